// One element of rank 1, made by an iota, as the scalar of a clamp.
module {
  func.func public @main(%arg0: tensor<3xui8>) -> (tensor<3xui8>) {
    %0 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<1xui8>
    %1 = "stablehlo.reshape"(%0) : (tensor<1xui8>) -> tensor<ui8>
    %2 = "stablehlo.constant"() <{value = dense<0> : tensor<3xui8>}> : () -> tensor<3xui8>
    %3 = "stablehlo.clamp"(%2, %arg0, %1) : (tensor<3xui8>, tensor<3xui8>, tensor<ui8>) -> tensor<3xui8>
    "func.return"(%3) : (tensor<3xui8>) -> ()
  }
}
