// A body that simplifying would make a plain product, which is accumulated in f32.
module {
  func.func public @main(%arg0: tensor<6x7xf16>) -> (tensor<6x2xf16>) {
    %1 = "stablehlo.constant"() <{value = dense<0.8125> : tensor<f16>}> : () -> tensor<f16>
    %2 = "stablehlo.reduce_window"(%arg0, %1) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [2, -1]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 3>}> ({
    ^bb0(%arg2: tensor<f16>, %arg3: tensor<f16>):
      %3 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
      %4 = "stablehlo.select"(%3, %arg2, %arg2) : (tensor<i1>, tensor<f16>, tensor<f16>) -> tensor<f16>
      %5 = "stablehlo.multiply"(%4, %arg3) : (tensor<f16>, tensor<f16>) -> tensor<f16>
      "stablehlo.return"(%5) : (tensor<f16>) -> ()
    }) : (tensor<6x7xf16>, tensor<f16>) -> tensor<6x2xf16>
    "func.return"(%2) : (tensor<6x2xf16>) -> ()
  }
}
