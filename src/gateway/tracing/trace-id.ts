/**
 * Ids of traces that begin at the gateway, and the decision by a ratio.
 *
 * An id is the random prefix of the thread's request ids, and 64 bits that differ for all calls of the thread and look random:
 * a ratio compares the last 56 bits, as the consistent sampling of OpenTelemetry does, here and in the services behind.
 */

const HEX_FROM = 18
/** 13 hex digits are 52 bits, which a number holds exactly. */
const HEX_TO = 31
const HIGHEST = 2 ** 52

/** `seeds` are 8 random bytes. */
export function createTraceIds(prefix: string, seeds: Buffer): (sequence: number) => string {
  const first = seeds.readUInt32LE(0)
  const second = seeds.readUInt32LE(4)
  return (sequence) => prefix + toHex(mix(sequence ^ first)) + toHex(mix(Math.imul(sequence, 0x9e37_79b1) ^ second))
}

/** The same for every service that decides by this rule. */
export function isWithinRatio(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true
  return ratio > 0 && Number.parseInt(traceId.slice(HEX_FROM, HEX_TO), 16) >= (1 - ratio) * HIGHEST
}

/** The finalizer of MurmurHash3: a bijection of 32 bits in which each bit of the input changes half of the output. */
function mix(word: number): number {
  let hash = word
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function toHex(word: number): string {
  return word.toString(16).padStart(8, '0')
}
