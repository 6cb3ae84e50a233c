// Padding of a window is initial values, which count where the initial value is not neutral.
module {
  func.func public @main(%arg0: tensor<64x3xi32>) -> (tensor<64x3xi32>, tensor<64x3xi32>) {
    %0 = "stablehlo.constant"() <{value = dense<14> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 63], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 64, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %2 = "stablehlo.add"(%arg2, %arg3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%2) : (tensor<i32>) -> ()
    }) : (tensor<64x3xi32>, tensor<i32>) -> tensor<64x3xi32>
    %3 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[63, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 64, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %2 = "stablehlo.add"(%arg2, %arg3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%2) : (tensor<i32>) -> ()
    }) : (tensor<64x3xi32>, tensor<i32>) -> tensor<64x3xi32>
    "func.return"(%1, %3) : (tensor<64x3xi32>, tensor<64x3xi32>) -> ()
  }
}
