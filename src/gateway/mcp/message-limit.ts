/**
 * Limits the messages of each credential that call no operation, per minute, over all gateway threads.
 *
 * The counts are slots of shared memory, found by a keyed hash of the credential: 32 bits of the hash, the minute, and the count. A
 * slot is changed by compare-and-swap, and is free once its minute has passed. A credential has eight possible slots; if others use
 * all of them in the same minute, its messages are not counted: with 10,000 credentials in a minute, one in a million. Tool calls do
 * not use this memory.
 */

import { createHash, randomFillSync } from 'node:crypto'
import { MINUTE_MS } from '../../foundation/domain/calendar.ts'

export interface MessageLimit {
  /** Returns the seconds until the next minute if the credential has used its messages; otherwise counts one and returns 0. */
  take(credential: string, nowMs: number): number
}

const KEY_BYTES = 32
/** Two bytes of the hash select a slot. */
const SLOTS = 2 ** 16
const SLOTS_OF_CREDENTIAL = 8
/** Minutes are stored modulo this number, 45 days. */
const MINUTES = 2 ** 16
const COUNT_MAX = 2 ** 16 - 1
const MINUTE_SHIFT = 16n
const OWNER_SHIFT = 32n

/** Allocates the memory that all gateway threads share, with the key of the hash. */
export function createMessageLimitMemory(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(KEY_BYTES + SLOTS * 8)
  randomFillSync(new Uint8Array(memory, 0, KEY_BYTES))
  return memory
}

export function createMessageLimit(perMinute: number, memory: SharedArrayBuffer): MessageLimit {
  const key = Buffer.from(new Uint8Array(memory, 0, KEY_BYTES))
  const slots = new BigUint64Array(memory, KEY_BYTES)

  return {
    take(credential, nowMs) {
      const minute = Math.floor(nowMs / MINUTE_MS) % MINUTES
      const hash = createHash('sha256').update(key).update(credential).digest()
      const owner = hash.readUInt32LE(0)
      for (let probe = 0; probe < SLOTS_OF_CREDENTIAL; probe++) {
        const used = takeFrom(slots, hash.readUInt16LE(4 + 2 * probe), owner, minute, perMinute)
        if (used === 'other') continue
        return used === 'taken' ? 0 : Math.max(1, Math.ceil((MINUTE_MS - (nowMs % MINUTE_MS)) / 1_000))
      }
      return 0
    },
  }
}

/** Counts a message in a slot, unless another credential uses it. */
function takeFrom(
  slots: BigUint64Array,
  at: number,
  owner: number,
  minute: number,
  perMinute: number,
): 'taken' | 'full' | 'other' {
  for (;;) {
    const before = Atomics.load(slots, at)
    const minuteBefore = Number((before >> MINUTE_SHIFT) & BigInt(MINUTES - 1))
    // Another thread may have read the clock just after the end of this minute.
    const isCurrent = minuteBefore === minute || minuteBefore === (minute + 1) % MINUTES
    const count = isCurrent ? Number(before & BigInt(COUNT_MAX)) : 0
    if (count > 0 && Number(before >> OWNER_SHIFT) !== owner) return 'other'
    if (count >= Math.min(perMinute, COUNT_MAX)) return 'full'
    const after = toSlot(owner, count > 0 ? minuteBefore : minute, count + 1)
    if (Atomics.compareExchange(slots, at, before, after) === before) return 'taken'
  }
}

function toSlot(owner: number, minute: number, count: number): bigint {
  return (BigInt(owner) << OWNER_SHIFT) | (BigInt(minute) << MINUTE_SHIFT) | BigInt(count)
}
