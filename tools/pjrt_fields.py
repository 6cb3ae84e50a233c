#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/tenon/pjrt_fields.def, the table of every field of every call, from our PJRT headers.

  pjrt_fields.py            writes the table
  pjrt_fields.py --check    exits 1 if the table is not what the headers give

What the headers say in comments is read: `/* out` after a field, `0.76` for the minor that added it. What they say
in words only is in the tables below."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "include/tenon/pjrt_fields.def"

# Structs whose fields are all out, as their comment says.
ALL_OUT = {"PJRT_Device_MemoryStats_Args": "device", "PJRT_Executable_GetCompiledMemoryStats_Args": "executable"}
# (struct, field): direction, where no comment on the line says it.
DIRECTION = {
    ("PJRT_Client_DefaultDeviceAssignment_Args", "default_assignment"): "IN",
    ("PJRT_Executable_OptimizedProgram_Args", "program"): "IN",
    ("PJRT_Buffer_ToHostBuffer_Args", "dst_size"): "INOUT",
    ("PJRT_FFI_Type_Register_Args", "type_id"): "INOUT",
}
# Fields that arrived together with the one whose comment gives the minor.
SINCE = {
    ("PJRT_Executable_DeserializeAndLoad_Args", "overridden_serialized_compile_options"): 71,
    ("PJRT_Executable_DeserializeAndLoad_Args", "overridden_serialized_compile_options_size"): 71,
    ("PJRT_Executable_GetCompiledMemoryStats_Args", "host_argument_size_in_bytes"): 43,
    ("PJRT_Executable_GetCompiledMemoryStats_Args", "host_output_size_in_bytes"): 43,
    ("PJRT_Executable_GetCompiledMemoryStats_Args", "host_alias_size_in_bytes"): 43,
    ("PJRT_Executable_GetCompiledMemoryStats_Args", "host_temp_size_in_bytes"): 43,
    ("PJRT_Device_MemoryStats_Args", "peak_allocated_bytes"): 113,
    ("PJRT_Device_MemoryStats_Args", "peak_allocated_bytes_is_set"): 113,
}
# Handles that belong to another object although the call fills them: the caller never ends them.
BORROWED = {("PJRT_Client_TopologyDescription_Args", "topology")}
BORROWED_CLASSES = {"Device", "Memory", "DeviceDescription", "MemoryDescription"}
# What ends a handle, beside the calls named _Destroy.
ENDS = {("PJRT_Client_FulfillAliasBuffer_Args", "fulfill_alias_buffer_cb")}
# Pointer field: the field that counts it, where it is not FIELD_size or num_FIELD.
COUNTS = {
    "dims": "num_dims", "unpadded_dims": "num_dims", "shape_dims": "shape_num_dims", "dynamic_dim_indices": "num_dynamic_dims",
    "byte_strides": "num_byte_strides", "create_options": "num_options", "attributes": "num_attributes", "descriptions": "num_descriptions",
    "properties": "num_properties", "payload": "num_payload", "transfer_metadata": "num_metadata", "serialized_bytes": "serialized_bytes_size",
    "devices": "num_devices", "memories": "num_memories", "addressable_devices": "num_addressable_devices",
    "addressable_memories": "num_addressable_memories", "output_types": "num_output_types", "code": "code_size", "format": "format_size",
    "compile_options": "compile_options_size", "memory_space_kind_ids": "num_memory_space_kind_ids",
    "non_donatable_input_indices": "num_non_donatable_input_indices", "kind": "kind_size",
}
STRINGS = {"error_message", "executable_name", "platform_name", "platform_version", "device_kind", "debug_string", "to_string", "kind",
           "description", "topology_name", "format", "message", "type_name", "target_name"}
STRUCTS = ("PJRT_Program", "PJRT_ExecuteOptions", "PJRT_LoadOptions")  # that are handed to calls and grow
VOID = ("PJRT_Error_Destroy", "PJRT_Error_Message")
EXTENSIONS = [  # type, struct, prefix of the functions that its slots lead to
    ("Layouts", "PJRT_Layouts_Extension"), ("FFI", "PJRT_FFI_Extension"),
    ("MemoryDescriptions", "PJRT_MemoryDescriptions_Extension"), ("Shardings", "PJRT_Shardings_Extension")]

STRUCT = re.compile(r"^struct (PJRT_\w+)\s*\{(.*?)\};", re.S | re.M)
TOKEN = re.compile(r"/\*(.*?)\*/|([^;/]+);", re.S)


def fields_of(body):
    """[(declaration, trailing comment)]; a comment belongs to the fields before it on its line."""
    body = re.sub(r"\s*PJRT_HEAD;", " size_t struct_size; PJRT_Extension_Base *extension_start;", body)
    found, line_start = [], 0
    for m in TOKEN.finditer(body):
        if m[2] is not None:
            declaration = " ".join(m[2].split())
            found.append([declaration, "", body.count("\n", 0, m.end(2))])
        else:
            line = body.count("\n", 0, m.start())
            for f in found:
                if f[2] == line:
                    f[1] += m[1] if f is found[-1] else " ".join(re.findall(r"0\.\d+", m[1]))
    return [(d, c) for d, c, _ in found]


def parse_declaration(d):
    m = re.match(r"(.*?)\(\*(\w+)\)\(.*\)$", d)
    if m:
        return "function", m[2]
    m = re.match(r"(.*?)(\w+)$", d)
    return m[1].strip(), m[2]


def classify(struct, type_, name, names):
    """kind, class, count field"""
    count = COUNTS.get(name)
    for guess in (count, name + "_size", "num_" + name):
        if guess in names:
            count = guess
            break
    else:
        count = None
    bare = type_.replace("const", "").replace(" ", "")
    handle = re.match(r"PJRT_(?:Layouts_)?(\w+?)(\**)$", bare)
    if type_ == "function" or bare.endswith("Callback") and not bare.startswith("PJRT_Fulfill") or bare == "PJRT_Error_PayloadVisitor":
        return "FUNCTION", "NONE", None
    if bare in ("PJRT_NamedValue*",):
        return "VALUES", "NONE", count
    if bare == "char*":
        kind = "STRING" if name in STRINGS or "fingerprint" in name else "BYTES"
        return (kind if count else "POINTER"), "NONE", count
    if bare in ("int64_t*", "size_t*", "int*", "int32_t*"):
        return {"int64_t*": "I64S", "size_t*": "SIZES", "int*": "INTS", "int32_t*": "INTS"}[bare], "NONE", count
    if bare == "bool":
        return "BOOL", "NONE", None
    if bare in ("int", "int32_t", "int64_t", "uint64_t", "size_t", "intptr_t", "uintptr_t", "uint32_t"):
        return "INT", "NONE", None
    if bare == "PJRT_Buffer_Type":
        return "TYPE", "NONE", None
    if bare in ("PJRT_Error_Code", "PJRT_HostBufferSemantics", "PJRT_FFI_Handler_TraitsBits"):
        return "INT", "NONE", None
    if bare == "PJRT_Buffer_MemoryLayout":
        return "INLINE", "NONE", None
    if bare == "PJRT_FFI_UserData":
        return "INLINE", "NONE", None
    if bare == "PJRT_Buffer_MemoryLayout*":
        return "LAYOUT", "NONE", None
    if bare in ("PJRT_Program*", "PJRT_ExecuteOptions*", "PJRT_LoadOptions*"):
        return "STRUCT", "NONE", None
    if handle and handle[1] in CLASSES:
        if handle[2] == "*":
            return "HANDLE", handle[1], None
        if handle[2] == "**" and count:
            return "HANDLES", handle[1], count
    return "POINTER", "NONE", None


CLASSES = ["Error", "Event", "Client", "Device", "Memory", "DeviceDescription", "TopologyDescription", "Executable", "LoadedExecutable",
           "Buffer", "ExecuteContext", "CopyToDeviceStream", "AsyncHostToDeviceTransferManager", "AsyncTrackingEvent",
           "FulfillAliasBufferCallback", "MemoryLayout", "MemoryDescription", "Device_Attributes", "DeviceAssignmentSerialized",
           "SerializedExecutable", "SerializedCompileOptions", "SerializedTopology", "SerializedLayout"]
HOLDERS = {c for c in CLASSES if "erialized" in c or c == "Device_Attributes"}


def rows(text):
    for m in STRUCT.finditer(text):
        struct = m[1]
        if not (struct.endswith("_Args") and "Callback_Args" not in struct or struct in STRUCTS):
            continue
        declared = [(*parse_declaration(d), c) for d, c in fields_of(m[2])]
        names = {n for _, n, _ in declared}
        out_from = ALL_OUT.get(struct)
        out_now, lines = False, []
        for type_, name, comment in declared:
            if name in ("struct_size", "extension_start"):
                continue
            kind, klass, count = classify(struct, type_, name, names)
            out = comment.strip().startswith("out") or bool(re.match(r"\s*(0\.\d+:? )?out", comment))
            direction = DIRECTION.get((struct, name)) or ("OUT" if out or out_now else "IN")
            if name == out_from:
                out_now = True
            if direction == "OUT" and kind == "HANDLE" and klass not in BORROWED_CLASSES and (struct, name) not in BORROWED:
                direction = "MAKES"
            if direction == "IN" and kind == "HANDLE" and struct.endswith("_Destroy_Args") or (struct, name) in ENDS:
                direction = "ENDS"
            minor = SINCE.get((struct, name)) or next((int(n) for n in re.findall(r"0\.(\d+)", comment)), 0)
            lines.append(f"FIELD({struct}, {name}, {kind}, {klass}, {direction}, {minor}, {count or name})")
        yield struct, lines


def slots(text, struct):
    body = re.search(rf"^struct {struct}\s*\{{(.*?)\}};", text, re.S | re.M)[1]
    found = []
    for d, _ in fields_of(body):
        if m := re.match(r"PJRT_SLOT\((\w+)\)", d):
            found.append((m[1], m[1]))
        elif m := re.match(r"(PJRT_\w+) \*(\w+)$", d):
            if not m[1].endswith("Base"):
                found.append((m[1], m[2]))
    return found


def make():
    api = (ROOT / "include/tenon/pjrt.h").read_text()
    extensions = (ROOT / "include/tenon/pjrt_extensions.h").read_text()
    tables = dict(rows(api)) | dict(rows(extensions))
    order = re.findall(r"^\s+X\((PJRT_\w+), (\d+)\)", api, re.M)
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "/* pjrt_fields.def - every field of every call of the PJRT C API, for tools that treat all calls alike. Written by",
           " * tools/pjrt_fields.py from pjrt.h and pjrt_extensions.h; `--check` compares.",
           " *",
           " *     CLASS(name)                                 a kind of object behind a handle",
           " *     CALL(function, minor)                       a slot of PJRT_Api, in order, and the minor that added it",
           " *     VOID_CALL(function, minor)                  the same, of the two that return nothing; else as CALL",
           " *     EXTENSION_CALL(type, table, function, slot) a slot of an extension",
           " *     STRUCT_BEGIN(type)                          the fields of the struct follow, without the head",
           " *     FIELD(struct, field, kind, class, direction, minor, count)",
           " *     STRUCT_END(type)",
           " *",
           " * kind       HANDLE, HANDLES (array), INT, BOOL, TYPE (PJRT_Buffer_Type), STRING, BYTES, I64S, SIZES, INTS (arrays),",
           " *            VALUES (PJRT_NamedValue), LAYOUT (pointer), STRUCT (pointer), INLINE (struct), FUNCTION, POINTER",
           " * direction  IN, OUT, INOUT; MAKES: out, and the caller's to end; ENDS: in, and ended by the call",
           " * minor      that added the field; 0: as old as its struct",
           " * count      the field that counts the array; the field itself if there is none */",
           "// clang-format off", "",
           "#ifndef CLASS", "#define CLASS(name)", "#endif", "#ifndef CALL", "#define CALL(function, minor)", "#endif",
           "#ifndef VOID_CALL", "#define VOID_CALL(function, minor) CALL(function, minor)", "#endif",
           "#ifndef EXTENSION_CALL", "#define EXTENSION_CALL(type, table, function, slot)", "#endif",
           "#ifndef STRUCT_BEGIN", "#define STRUCT_BEGIN(type)", "#endif", "#ifndef STRUCT_END", "#define STRUCT_END(type)", "#endif",
           "#ifndef FIELD", "#define FIELD(struct, field, kind, class, direction, minor, count)", "#endif", ""]
    out += [f"CLASS({c})" for c in CLASSES] + [""]
    out += [f"{'VOID_CALL' if name in VOID else 'CALL'}({name}, {minor})" for name, minor in order] + [""]
    used = [name for name, _ in order]
    for kind, struct in EXTENSIONS:
        for function, slot in slots(extensions, struct):
            out.append(f"EXTENSION_CALL({kind}, {struct}, {function}, {slot})")
            used.append(function)
    out.append("")
    for struct in [f"{name}_Args" for name in used] + list(STRUCTS):
        out += [f"STRUCT_BEGIN({struct})"] + ["    " + line for line in tables[struct]] + [f"STRUCT_END({struct})"]
    out += ["", "#undef CLASS", "#undef VOID_CALL", "#undef CALL", "#undef EXTENSION_CALL", "#undef STRUCT_BEGIN", "#undef STRUCT_END", "#undef FIELD", ""]
    return "\n".join(out)


def main():
    text = make()
    if sys.argv[1:] == ["--check"]:
        if OUT.read_text() != text:
            print(f"{OUT} is not what the headers give: run tools/pjrt_fields.py")
            return 1
        return 0
    OUT.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
