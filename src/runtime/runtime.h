/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - everything that src/pjrt needs to put the ABI over the runtime. */
#ifndef TN_RUNTIME_RUNTIME_H
#define TN_RUNTIME_RUNTIME_H

#include "runtime/buffer.h"
#include "runtime/client.h"
#include "runtime/copy_stream.h"
#include "runtime/device.h"
#include "runtime/event.h"
#include "runtime/execute.h"
#include "runtime/memory.h"
#include "base/named_value.h"
#include "runtime/topology.h"
#include "runtime/transfer.h"
#include "runtime/transfer_manager.h"

#endif
