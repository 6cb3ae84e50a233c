// Takes the mean of n numbers away from each of them, for any n.
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %count = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %count : tensor<f32>
  %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %means = stablehlo.dynamic_broadcast_in_dim %mean, %shape, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %y = stablehlo.subtract %x, %means : tensor<?xf32>
  return %y : tensor<?xf32>
}
