// MessagePack: values to bytes and back. No package of Debian's does this for Node.
//
// A string is a str, a Buffer or Uint8Array a bin, a Date a timestamp, an Ext any other extension. Numbers without a
// fraction go as integers. Integers that a number cannot hold come as bigint; maps whose keys are not all strings come as Map.
'use strict';

class Ext {
    constructor(type, data) {
        this.type = type;
        this.data = data;
    }
}

const DEPTH = 500; // levels of nesting, either way

class Writer {
    constructor() {
        this.bytes = Buffer.allocUnsafe(256);
        this.at = 0;
    }

    /** Makes room for `size` bytes, and says where it is. */
    room(size) {
        if (this.at + size > this.bytes.length) {
            const larger = Buffer.allocUnsafe(Math.max(2 * this.bytes.length, this.at + size));
            this.bytes.copy(larger, 0, 0, this.at);
            this.bytes = larger;
        }
        this.at += size;
        return this.at - size;
    }

    /** A first byte, and behind it an unsigned integer of `size` bytes. */
    head(first, size, number) {
        const at = this.room(1 + size);
        this.bytes[at] = first;
        if (size > 0) this.bytes.writeUIntBE(number, at + 1, size);
    }

    /** The head of what has a length: within the first byte below `short`, or in 1, 2, 4 bytes (first8 may be missing). */
    length(n, short, first, first8, first16) {
        if (n < short) this.head(first | n, 0);
        else if (n < 0x100 && first8 !== null) this.head(first8, 1, n);
        else if (n < 0x10000) this.head(first16, 2, n);
        else this.head(first16 + 1, 4, n);
    }

    integer(n) {
        if (n >= 0) {
            if (n < 0x80) this.head(n, 0);
            else if (n < 0x100) this.head(0xcc, 1, n);
            else if (n < 0x10000) this.head(0xcd, 2, n);
            else if (n < 0x100000000) this.head(0xce, 4, n);
            else this.big(BigInt(n));
        } else if (n >= -0x20) this.head(n & 0xff, 0);
        else if (n >= -0x80) this.head(0xd0, 1, n & 0xff);
        else if (n >= -0x8000) this.head(0xd1, 2, n & 0xffff);
        else if (n >= -0x80000000) this.head(0xd2, 4, n >>> 0);
        else this.big(BigInt(n));
    }

    big(n) {
        const at = this.room(9);
        this.bytes[at] = n < 0n ? 0xd3 : 0xcf;
        if (n < 0n) this.bytes.writeBigInt64BE(n, at + 1);
        else this.bytes.writeBigUInt64BE(n, at + 1);
    }

    number(n) {
        if (Number.isSafeInteger(n) && !Object.is(n, -0)) return this.integer(n);
        const at = this.room(9);
        this.bytes[at] = 0xcb;
        this.bytes.writeDoubleBE(n, at + 1);
    }

    raw(data) {
        const at = this.room(data.length); // first, for it may make other bytes
        this.bytes.set(data, at);
    }

    text(s) {
        const size = Buffer.byteLength(s);
        this.length(size, 32, 0xa0, 0xd9, 0xda);
        const at = this.room(size);
        this.bytes.write(s, at);
    }

    ext(type, data) {
        const fixed = [1, 2, 4, 8, 16].indexOf(data.length);
        if (fixed >= 0) this.head(0xd4 + fixed, 0);
        else this.length(data.length, 0, 0, 0xc7, 0xc8);
        this.head(type & 0xff, 0);
        this.raw(data);
    }

    date(d) {
        const ms = d.getTime();
        const data = Buffer.alloc(12);
        data.writeUInt32BE((((ms % 1000) + 1000) % 1000) * 1e6, 0);
        data.writeBigInt64BE(BigInt(Math.floor(ms / 1000)), 4);
        this.ext(-1, data);
    }

    pairs(size, entries, depth) {
        this.length(size, 16, 0x80, null, 0xde);
        for (const [key, value] of entries) {
            this.value(key, depth);
            this.value(value, depth);
        }
    }

    value(v, depth = 0) {
        if (depth > DEPTH) throw new TypeError('nested too deeply');
        if (v === null || v === undefined) this.head(0xc0, 0);
        else if (typeof v === 'number') this.number(v);
        else if (typeof v === 'string') this.text(v);
        else if (typeof v === 'boolean') this.head(v ? 0xc3 : 0xc2, 0);
        else if (typeof v === 'bigint') this.big(v);
        else if (Array.isArray(v)) {
            this.length(v.length, 16, 0x90, null, 0xdc);
            for (const one of v) this.value(one, depth + 1);
        } else if (v instanceof Uint8Array) {
            this.length(v.length, 0, 0, 0xc4, 0xc5);
            this.raw(v);
        } else if (v instanceof Map) this.pairs(v.size, v, depth + 1);
        else if (v instanceof Date) this.date(v);
        else if (v instanceof Ext) this.ext(v.type, v.data);
        else if (typeof v === 'object') {
            const entries = Object.entries(v).filter(([, value]) => value !== undefined);
            this.pairs(entries.length, entries, depth + 1);
        } else throw new TypeError(`a ${typeof v} is not for MessagePack`);
    }
}

function encode(value) {
    const writer = new Writer();
    writer.value(value);
    return writer.bytes.subarray(0, writer.at);
}

// Of each first byte from 0xc0 to 0xdf: [bytes of a length behind it, bytes beside, what the length counts]
const HEADS = [
    [0, 0], null, [0, 0], [0, 0], // nil, never used, false, true
    [1, 0, 'bin'], [2, 0, 'bin'], [4, 0, 'bin'],
    [1, 1, 'ext'], [2, 1, 'ext'], [4, 1, 'ext'],
    [0, 4], [0, 8], // floats
    [0, 1], [0, 2], [0, 4], [0, 8], [0, 1], [0, 2], [0, 4], [0, 8], // integers
    [0, 2], [0, 3], [0, 5], [0, 9], [0, 17], // ext of fixed sizes
    [1, 0, 'str'], [2, 0, 'str'], [4, 0, 'str'],
    [2, 0, 'array'], [4, 0, 'array'], [2, 0, 'map'], [4, 0, 'map'],
];

/** Finds the ends of values in bytes that come in pieces: it looks at each head once, and keeps what is not whole. */
class Scanner {
    constructor(most) {
        this.most = most; // bytes of a value
        this.store = Buffer.alloc(0);
        this.held = 0; // bytes in it
        this.at = 0; // of the next head in the value that is not whole
        this.need = 1; // values until its end
    }

    /** The values that are whole with these bytes. RangeError, TypeError: they are no MessagePack, or too much. */
    *feed(piece) {
        let bytes = piece;
        if (this.held > 0) {
            this.keep(piece, this.held);
            bytes = this.store.subarray(0, this.held);
        }
        while (this.whole(bytes)) {
            yield new Reader(bytes).value();
            bytes = bytes.subarray(this.at);
            this.at = 0;
            this.need = 1;
        }
        this.keep(bytes, 0);
    }

    /** Holds these bytes behind the first `from` of the store. */
    keep(bytes, from) {
        this.held = from + bytes.length;
        const store = this.store;
        if (this.held > store.length) {
            this.store = Buffer.allocUnsafe(Math.max(this.held, 2 * store.length));
            store.copy(this.store, 0, 0, from);
        }
        bytes.copy(this.store, from); // also when they stand in it
    }

    whole(bytes) {
        while (this.need > 0 && this.at < bytes.length) {
            const first = bytes[this.at];
            let size = 1;
            let below = 0;
            if (first >= 0x80 && first < 0x90) below = 2 * (first & 15);
            else if (first >= 0x90 && first < 0xa0) below = first & 15;
            else if (first >= 0xa0 && first < 0xc0) size += first & 31;
            else if (first >= 0xc0 && first < 0xe0) {
                const head = HEADS[first - 0xc0];
                if (head === null) throw new RangeError('c1 is no MessagePack');
                const [width, beside, of] = head;
                if (this.at + 1 + width > bytes.length) return false;
                const length = width > 0 ? bytes.readUIntBE(this.at + 1, width) : 0;
                size += width + beside;
                if (of === 'array') below = length;
                else if (of === 'map') below = 2 * length;
                else size += length;
            }
            this.at += size;
            this.need += below - 1;
            if (this.at + this.need > this.most) throw new RangeError(`a value of more than ${this.most} bytes`);
        }
        return this.need === 0 && this.at <= bytes.length;
    }
}

/** Decodes a value that is whole. */
class Reader {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    take(size) {
        this.at += size;
        return this.bytes.subarray(this.at - size, this.at);
    }

    uint(size) {
        return size > 0 ? this.take(size).readUIntBE(0, size) : 0;
    }

    text(size) {
        return this.take(size).toString('utf8');
    }

    array(size, depth) {
        const list = [];
        for (let i = 0; i < size; i++) list.push(this.value(depth + 1));
        return list;
    }

    map(size, depth) {
        const pairs = [];
        for (let i = 0; i < size; i++) pairs.push([this.value(depth + 1), this.value(depth + 1)]);
        return pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(pairs) : new Map(pairs);
    }

    ext(size) {
        const type = this.take(1).readInt8();
        const data = Buffer.from(this.take(size));
        return (type === -1 && dateOf(data)) || new Ext(type, data);
    }

    value(depth = 0) {
        if (depth > DEPTH) throw new RangeError('nested too deeply');
        const first = this.bytes[this.at++];
        if (first < 0x80) return first;
        if (first < 0x90) return this.map(first & 15, depth);
        if (first < 0xa0) return this.array(first & 15, depth);
        if (first < 0xc0) return this.text(first & 31);
        if (first >= 0xe0) return first - 0x100;
        const [width, beside, of] = HEADS[first - 0xc0];
        if (of !== undefined) {
            const size = this.uint(width);
            return of === 'bin' ? Buffer.from(this.take(size)) : of === 'str' ? this.text(size) : this[of](size, depth);
        }
        if (first < 0xc4) return first === 0xc0 ? null : first === 0xc3;
        if (first === 0xca) return this.take(4).readFloatBE();
        if (first === 0xcb) return this.take(8).readDoubleBE();
        if (first >= 0xd4) return this.ext(beside - 1);
        if (beside < 8) return first < 0xd0 ? this.uint(beside) : this.take(beside).readIntBE(0, beside);
        const n = first === 0xcf ? this.take(8).readBigUInt64BE() : this.take(8).readBigInt64BE();
        return n >= Number.MIN_SAFE_INTEGER && n <= Number.MAX_SAFE_INTEGER ? Number(n) : n;
    }
}

/** A timestamp as a Date; null if it is none, or finer than a Date can be. */
function dateOf(data) {
    let ns = 0;
    let seconds;
    if (data.length === 4) seconds = data.readUInt32BE();
    else if (data.length === 8) {
        ns = data.readUInt32BE() >>> 2;
        seconds = (data[3] & 3) * 2 ** 32 + data.readUInt32BE(4);
    } else if (data.length === 12) {
        ns = data.readUInt32BE();
        seconds = Number(data.readBigInt64BE(4));
    } else return null;
    const date = new Date(seconds * 1000 + ns / 1e6);
    return ns % 1e6 === 0 && ns < 1e9 && !Number.isNaN(date.getTime()) ? date : null;
}

module.exports = { encode, Ext, Scanner };
