# A small JSON reader: Julia has none in its standard library.

struct JSONError <: Exception
    message::String
    at::Int
end

Base.showerror(io::IO, e::JSONError) = print(io, "no JSON: ", e.message, " at byte ", e.at)

mutable struct JSONText
    bytes::Vector{UInt8}
    at::Int
end

"""
    parse_json(text)

The value of a JSON text: objects are `Dict{String,Any}`, lists `Vector{Any}`, `null` is `nothing`, numbers without point and
exponent are `Int64` (or `Int128`, `BigInt` where they must be), all others `Float64`.
"""
function parse_json(text::AbstractString)
    json = JSONText(Vector{UInt8}(codeunits(text)), 1)
    value = json_value(json, 0)
    skip_white(json)
    json.at > length(json.bytes) || throw(JSONError("something follows the value", json.at))
    return value
end

peek_byte(json) = json.at <= length(json.bytes) ? json.bytes[json.at] : 0x00

function skip_white(json)
    while peek_byte(json) in (0x20, 0x0a, 0x0d, 0x09)
        json.at += 1
    end
end

function expect_byte(json, byte)
    peek_byte(json) == UInt8(byte) || throw(JSONError("expected $(repr(byte))", json.at))
    json.at += 1
end

function json_value(json, depth)
    depth > 512 && throw(JSONError("it is nested too deep", json.at))
    skip_white(json)
    byte = peek_byte(json)
    byte == UInt8('{') && return json_object(json, depth)
    byte == UInt8('[') && return json_list(json, depth)
    byte == UInt8('"') && return json_string(json)
    for (word, value) in (("null", nothing), ("true", true), ("false", false))
        stop = json.at + length(word) - 1
        if stop <= length(json.bytes) && view(json.bytes, json.at:stop) == codeunits(word)
            json.at = stop + 1
            return value
        end
    end
    return json_number(json)
end

function json_object(json, depth)
    object = Dict{String,Any}()
    expect_byte(json, '{')
    skip_white(json)
    if peek_byte(json) == UInt8('}')
        json.at += 1
        return object
    end
    while true
        skip_white(json)
        key = json_string(json)
        skip_white(json)
        expect_byte(json, ':')
        object[key] = json_value(json, depth + 1)
        skip_white(json)
        peek_byte(json) == UInt8(',') || break
        json.at += 1
    end
    expect_byte(json, '}')
    return object
end

function json_list(json, depth)
    list = Any[]
    expect_byte(json, '[')
    skip_white(json)
    if peek_byte(json) == UInt8(']')
        json.at += 1
        return list
    end
    while true
        push!(list, json_value(json, depth + 1))
        skip_white(json)
        peek_byte(json) == UInt8(',') || break
        json.at += 1
    end
    expect_byte(json, ']')
    return list
end

const ESCAPES = Dict('"' => '"', '\\' => '\\', '/' => '/', 'b' => '\b', 'f' => '\f', 'n' => '\n', 'r' => '\r', 't' => '\t')

function json_string(json)
    expect_byte(json, '"')
    io = IOBuffer()
    while true
        json.at <= length(json.bytes) || throw(JSONError("a string does not end", json.at))
        byte = json.bytes[json.at]
        json.at += 1
        byte == UInt8('"') && return String(take!(io))
        if byte != UInt8('\\')
            write(io, byte)
            continue
        end
        letter = Char(peek_byte(json))
        json.at += 1
        if letter == 'u'
            unit = json_hex(json)
            if 0xd800 <= unit < 0xdc00
                expect_byte(json, '\\')
                expect_byte(json, 'u')
                unit = 0x10000 + ((unit - 0xd800) << 10) + (json_hex(json) - 0xdc00)
            end
            print(io, Char(unit))
        else
            haskey(ESCAPES, letter) || throw(JSONError("unknown escape", json.at))
            print(io, ESCAPES[letter])
        end
    end
end

function json_hex(json)
    stop = json.at + 3
    stop <= length(json.bytes) || throw(JSONError("an escape does not end", json.at))
    unit = tryparse(UInt32, String(json.bytes[json.at:stop]), base = 16)
    unit === nothing && throw(JSONError("unknown escape", json.at))
    json.at = stop + 1
    return unit
end

function json_number(json)
    start = json.at
    while peek_byte(json) in codeunits("+-.eE0123456789")
        json.at += 1
    end
    text = String(json.bytes[start:json.at-1])
    value = occursin(r"[.eE]", text) ? tryparse(Float64, text) :
            something(tryparse(Int64, text), tryparse(Int128, text), tryparse(BigInt, text), Some(nothing))
    value === nothing && throw(JSONError("expected a value", start))
    return value
end
