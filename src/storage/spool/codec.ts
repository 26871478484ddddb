/**
 * The bytes of a spool segment: a header (`segment-header.ts`), and batches.
 *
 *   batch   = magic, bytes, crc32, records, definition bytes, first definition (u32 each), first record (f64)  32 bytes
 *             record*                                                                                56 bytes each
 *             definitions, if there are any: prefix of request ids (16 ASCII), JSON array of attributions, padded with
 *             spaces to 8
 *             explanations of refused calls and traces of sampled ones, if there are any (`explanation-section.ts`)
 *   end     = a batch without records: the writer continues in another segment
 *
 * Numbers are little-endian and every length is a multiple of 8, so a reader can lay typed arrays over the bytes. `crc32` covers
 * the rest of the batch: a batch counts as a whole or not at all. An attribution is written once per segment, and records refer
 * to it by number. `first definition` is the number of the first definition in the batch, so that a reader can compute which
 * definitions are missing after a damaged range. `first record` is the number of the first record of the source, for the same
 * reason. The prefix of request ids is repeated for segments whose header is damaged.
 *
 * Format 1 has no `first record`, no prefix beside the definitions, and its own magic numbers. It is still read.
 * No magic number occurs in JSON, which has no control characters: a scan for the next batch cannot match a caller's text.
 *
 * `crc32` does not cover the magic number. A magic number that damage turned into another one is found by the lengths: each kind
 * of batch has a header or a last section of another length.
 */

import { crc32 } from 'node:zlib'
import type { Attribution } from '../../foundation/domain/attribution.ts'
import {
  decodeExplanations,
  EXPLANATION_SECTION_BYTES_MIN,
  explanationSectionBytes,
  ExplanationSection,
} from './explanation-section.ts'
import { RECORD_BYTES, RECORD_DOUBLES, RECORD_WORDS } from './record-batch.ts'
import type { CallRecord } from './call-record.ts'
import { REQUEST_PREFIX_LENGTH } from './segment-header.ts'

export const BATCH_HEADER_BYTES = 32

const OLD_BATCH_HEADER_BYTES = 24
const OLD_BATCH_MAGIC = 0x42_47_54_01
const OLD_EXPLAINED_MAGIC = 0x42_47_54_02
const BATCH_MAGIC = 0x42_47_54_03
/** Magic number of a batch that ends with explanations. */
const EXPLAINED_MAGIC = 0x42_47_54_04
const END_MAGIC = 0x42_47_54_05
const CRC_FROM = 12
/** Above the size of any batch: a header with a higher count is damaged. */
const RECORDS_MAX = 1 << 20
const EXPLANATION_BYTES_MAX = 1 << 21

/** One batch under construction: records are written as calls end, the other sections when the batch is sealed. */
export class BatchBuffer {
  readonly #bytes: Buffer
  readonly #words: Uint32Array
  readonly #doubles: Float64Array
  readonly recordsMax: number
  readonly #requestPrefix: string
  readonly #explanations = new ExplanationSection()
  count = 0

  constructor(recordsMax: number, requestPrefix = '') {
    const buffer = new ArrayBuffer(BATCH_HEADER_BYTES + recordsMax * RECORD_BYTES)
    this.recordsMax = recordsMax
    this.#requestPrefix = requestPrefix
    this.#bytes = Buffer.from(buffer)
    this.#words = new Uint32Array(buffer)
    this.#doubles = new Float64Array(buffer)
  }

  add(call: CallRecord, attributionId: number): void {
    const word = BATCH_HEADER_BYTES / 4 + this.count * RECORD_WORDS
    const double = BATCH_HEADER_BYTES / 8 + this.count * RECORD_DOUBLES
    const words = this.#words
    const doubles = this.#doubles
    words[word] = attributionId
    words[word + 1] = call.sequence
    doubles[double + 1] = call.timeMs
    doubles[double + 2] = call.unitsMicro
    doubles[double + 3] = call.requestBytes
    doubles[double + 4] = call.responseBytes
    words[word + 10] = call.durationUs
    words[word + 11] = call.upstreamUs
    words[word + 12] = call.status | (call.outcome << 16) | (call.flags << 24)
    words[word + 13] = call.admittedAgoMs
    this.count++
  }

  /** Attaches an explanation to the latest record. Returns false if there is no room for it. */
  explain(text: string): boolean {
    return this.#explanations.add(this.count - 1, text)
  }

  /** Attaches a trace to the latest record. Returns false if there is no room for it. */
  trace(text: string): boolean {
    return this.#explanations.addTrace(this.count - 1, text)
  }

  clear(): void {
    this.count = 0
    this.#explanations.clear()
  }

  /** Returns the bytes to write, valid until the next `add`, and empties the buffer. */
  seal(definitions: readonly Attribution[], firstDefinition: number, firstRecord = 0): Buffer {
    const recordsEnd = BATCH_HEADER_BYTES + this.count * RECORD_BYTES
    const tail = definitions.length === 0 ? null : encodeDefinitions(definitions, this.#requestPrefix)
    const explanations = this.#explanations.seal()
    const tails = [tail, explanations].filter((each) => each !== null)
    const records = this.#bytes.subarray(0, recordsEnd)
    const bytes = tails.length === 0 ? records : Buffer.concat([records, ...tails])
    bytes.writeUInt32LE(explanations === null ? BATCH_MAGIC : EXPLAINED_MAGIC, 0)
    bytes.writeUInt32LE(bytes.length, 4)
    bytes.writeUInt32LE(this.count, 12)
    bytes.writeUInt32LE(tail?.length ?? 0, 16)
    bytes.writeUInt32LE(firstDefinition, 20)
    bytes.writeDoubleLE(firstRecord, 24)
    bytes.writeUInt32LE(crc32(bytes.subarray(CRC_FROM)), 8)
    this.count = 0
    return bytes
  }
}

/** Encodes the end marker: it follows the last batch of a segment whose writer continues in another one. */
export function encodeEnd(nextRecord: number): Buffer {
  const bytes = Buffer.alloc(BATCH_HEADER_BYTES)
  bytes.writeUInt32LE(END_MAGIC, 0)
  bytes.writeUInt32LE(bytes.length, 4)
  bytes.writeDoubleLE(nextRecord, 24)
  bytes.writeUInt32LE(crc32(bytes.subarray(CRC_FROM)), 8)
  return bytes
}

export interface BatchHeader {
  /** Length of the whole batch. */
  readonly bytes: number
  readonly headerBytes: number
  readonly records: number
  readonly definitionBytes: number
  readonly firstDefinition: number
  /** Number of the batch's first record; null in format 1. */
  readonly firstRecord: number | null
  /** 0: the batch has no explanations. */
  readonly explanationBytes: number
  /** True for the end marker of a segment. */
  readonly isEnd: boolean
}

export function isBatchMagic(word: number): boolean {
  return word >= OLD_BATCH_MAGIC && word <= END_MAGIC
}

/** Decodes the header at `offset`; null if there is none or its numbers contradict each other. */
export function decodeBatchHeader(view: DataView, offset: number): BatchHeader | null {
  if (offset + OLD_BATCH_HEADER_BYTES > view.byteLength) return null
  const magic = view.getUint32(offset, true)
  if (!isBatchMagic(magic)) return null
  const isOld = magic < BATCH_MAGIC
  const headerBytes = isOld ? OLD_BATCH_HEADER_BYTES : BATCH_HEADER_BYTES
  if (offset + headerBytes > view.byteLength) return null
  const bytes = view.getUint32(offset + 4, true)
  const records = view.getUint32(offset + 12, true)
  const definitionBytes = view.getUint32(offset + 16, true)
  const firstDefinition = view.getUint32(offset + 20, true)
  const firstRecord = isOld ? null : view.getFloat64(offset + 24, true)
  const explanationBytes = bytes - headerBytes - records * RECORD_BYTES - definitionBytes
  const isEnd = magic === END_MAGIC
  const isExplained = magic === EXPLAINED_MAGIC || magic === OLD_EXPLAINED_MAGIC
  if (bytes % 8 !== 0 || records > RECORDS_MAX) return null
  if (isExplained ? !isSectionLength(explanationBytes) : explanationBytes !== 0) return null
  if (firstRecord !== null && !(Number.isSafeInteger(firstRecord) && firstRecord >= 0)) return null
  if (isEnd && bytes !== headerBytes) return null
  return { bytes, headerBytes, records, definitionBytes, firstDefinition, firstRecord, explanationBytes, isEnd }
}

function isSectionLength(bytes: number): boolean {
  return bytes >= EXPLANATION_SECTION_BYTES_MIN && bytes <= EXPLANATION_BYTES_MAX
}

export function isWhole(buffer: ArrayBuffer, offset: number, header: BatchHeader): boolean {
  const { bytes, explanationBytes } = header
  if (offset + bytes > buffer.byteLength) return false
  const view = new DataView(buffer)
  const section = offset + bytes - explanationBytes
  if (explanationBytes > 0 && explanationSectionBytes(view, section) !== explanationBytes) return false
  return crc32(new Uint8Array(buffer, offset + CRC_FROM, bytes - CRC_FROM)) === view.getUint32(offset + 8, true)
}

export interface Definitions {
  /** Null in format 1. */
  readonly requestPrefix: string | null
  readonly attributions: readonly Attribution[]
}

const NO_DEFINITIONS: Definitions = { requestPrefix: null, attributions: [] }

/** Throws if the bytes are not JSON. */
export function decodeDefinitions(buffer: ArrayBuffer, offset: number, header: BatchHeader): Definitions {
  const { headerBytes, records, definitionBytes, firstRecord } = header
  if (definitionBytes === 0) return NO_DEFINITIONS
  const bytes = Buffer.from(buffer, offset + headerBytes + records * RECORD_BYTES, definitionBytes)
  const prefixLength = firstRecord === null ? 0 : REQUEST_PREFIX_LENGTH
  const attributions: unknown = JSON.parse(bytes.toString('utf8', prefixLength))
  if (!Array.isArray(attributions)) throw new Error('the definitions of a batch are not an array')
  return {
    requestPrefix: prefixLength === 0 ? null : bytes.toString('latin1', 0, prefixLength),
    attributions: attributions as Attribution[],
  }
}

/** Decodes the explanations and traces of a batch, by the number of their entry. */
export function decodeBatchExplanations(
  buffer: ArrayBuffer,
  offset: number,
  { bytes, explanationBytes }: BatchHeader,
): ReadonlyMap<number, string> {
  return decodeExplanations(Buffer.from(buffer, offset + bytes - explanationBytes, explanationBytes))
}

function encodeDefinitions(definitions: readonly Attribution[], requestPrefix: string): Buffer {
  const prefix = Buffer.alloc(REQUEST_PREFIX_LENGTH, ' ')
  prefix.write(requestPrefix, 'latin1')
  const text = Buffer.from(JSON.stringify(definitions), 'utf8')
  const padding = Buffer.alloc((8 - (text.length % 8)) % 8, ' ')
  return Buffer.concat([prefix, text, padding])
}
