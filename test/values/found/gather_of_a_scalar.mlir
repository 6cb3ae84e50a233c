module {
  func.func public @main(%arg0: tensor<i1>) -> (tensor<0xf64>) {
    %0 = "stablehlo.convert"(%arg0) : (tensor<i1>) -> tensor<f64>
    %1 = "stablehlo.constant"() <{value = dense<> : tensor<0x0xi32>}> : () -> tensor<0x0xi32>
    %2 = "stablehlo.gather"(%0, %1) <{indices_are_sorted = false, slice_sizes = array<i64>, dimension_numbers = #stablehlo.gather<index_vector_dim = 1>}> : (tensor<f64>, tensor<0x0xi32>) -> tensor<0xf64>
    "func.return"(%2) : (tensor<0xf64>) -> ()
  }
}
