// The larger of two complex numbers does not depend on their order, NaNs among their parts or not.
module {
  func.func public @main(%arg0: tensor<4xcomplex<f32>>) -> (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) {
    %0 = "stablehlo.constant"() <{value = dense<[(0x7FC00000, 5.0), (0x7FC00000, -5.0), (0.0, 0x7FC00000), (-0.0, 1.0)]> : tensor<4xcomplex<f32>>}> : () -> tensor<4xcomplex<f32>>
    %1 = "stablehlo.constant"() <{value = dense<[(0x7FC00000, 7.0), (1.0, 0.0), (0.0, 7.0), (0.0, 1.0)]> : tensor<4xcomplex<f32>>}> : () -> tensor<4xcomplex<f32>>
    %z = "stablehlo.subtract"(%arg0, %arg0) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %w = "stablehlo.constant"() <{value = dense<(-0.0, -0.0)> : tensor<4xcomplex<f32>>}> : () -> tensor<4xcomplex<f32>>
    %n = "stablehlo.multiply"(%z, %w) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %2 = "stablehlo.add"(%n, %0) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %3 = "stablehlo.add"(%n, %1) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %4 = "stablehlo.maximum"(%2, %3) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %5 = "stablehlo.maximum"(%3, %2) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %6 = "stablehlo.minimum"(%2, %3) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %7 = "stablehlo.minimum"(%3, %2) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    "func.return"(%4, %5, %6, %7) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> ()
  }
}
