/**
 * The bytes of a spool segment.
 *
 *   segment = header, batch*
 *   header  = "TGSPOOL1", made at (f64, ms), prefix of request ids (16 ASCII), zeros        64 bytes
 *   batch   = magic, bytes, crc32, records, definition bytes, first definition (u32 each)   24 bytes
 *             record*                                                                       56 bytes each
 *             definitions: JSON array of attributions, padded with spaces to 8
 *             explanations of refused calls, if there are any (`explanation-section.ts`)
 *
 * Numbers are little-endian and everything is a multiple of 8 long, so a reader can lay typed arrays
 * over the bytes. `crc32` covers the batch behind itself: a batch is whole or it is not there. An
 * attribution is written once per segment; records name it by its position. A batch with explanations has
 * a magic of its own: batches without them are as they were before explanations existed.
 */

import { crc32 } from 'node:zlib'
import type { Attribution } from '../domain/attribution.ts'
import { decodeExplanations, ExplanationSection } from './explanation-section.ts'
import { RECORD_BYTES, RECORD_DOUBLES, RECORD_WORDS } from './record-batch.ts'
import type { CallRecord } from './call-record.ts'

export const HEADER_BYTES = 64
export const BATCH_HEADER_BYTES = 24
export const REQUEST_PREFIX_LENGTH = 16

const SEGMENT_MAGIC = 'TGSPOOL1'
const BATCH_MAGIC = 0x42_47_54_01
/** Of a batch that ends with explanations. */
const EXPLAINED_MAGIC = 0x42_47_54_02
const CRC_FROM = 12

export function encodeHeader(timeMs: number, requestPrefix: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(SEGMENT_MAGIC, 0, 'latin1')
  header.writeDoubleLE(timeMs, 8)
  header.write(requestPrefix, 16, REQUEST_PREFIX_LENGTH, 'latin1')
  return header
}

/** The prefix of request ids, or null where `header` is not that of a segment. */
export function decodeHeader(header: Buffer): string | null {
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, 8) !== SEGMENT_MAGIC) return null
  return header.toString('latin1', 16, 16 + REQUEST_PREFIX_LENGTH)
}

/** One batch while it is filled: records are laid down as calls end, the rest when the batch is sealed. */
export class BatchBuffer {
  readonly #bytes: Buffer
  readonly #words: Uint32Array
  readonly #doubles: Float64Array
  readonly recordsMax: number
  readonly #explanations = new ExplanationSection()
  count = 0

  constructor(recordsMax: number) {
    const buffer = new ArrayBuffer(BATCH_HEADER_BYTES + recordsMax * RECORD_BYTES)
    this.recordsMax = recordsMax
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

  /** Explains the record that was added last. Returns false if there is no room for it. */
  explain(text: string): boolean {
    return this.#explanations.add(this.count - 1, text)
  }

  clear(): void {
    this.count = 0
    this.#explanations.clear()
  }

  /** The bytes to write; valid until the next `add`. Empties the buffer. */
  seal(definitions: readonly Attribution[], firstDefinition: number): Buffer {
    const recordsEnd = BATCH_HEADER_BYTES + this.count * RECORD_BYTES
    const tail = definitions.length === 0 ? null : encodeDefinitions(definitions)
    const explanations = this.#explanations.seal()
    const tails = [tail, explanations].filter((each) => each !== null)
    const records = this.#bytes.subarray(0, recordsEnd)
    const bytes = tails.length === 0 ? records : Buffer.concat([records, ...tails])
    bytes.writeUInt32LE(explanations === null ? BATCH_MAGIC : EXPLAINED_MAGIC, 0)
    bytes.writeUInt32LE(bytes.length, 4)
    bytes.writeUInt32LE(this.count, 12)
    bytes.writeUInt32LE(tail?.length ?? 0, 16)
    bytes.writeUInt32LE(firstDefinition, 20)
    bytes.writeUInt32LE(crc32(bytes.subarray(CRC_FROM)), 8)
    this.count = 0
    return bytes
  }
}

export interface BatchHeader {
  readonly bytes: number
  readonly records: number
  readonly definitionBytes: number
  readonly firstDefinition: number
  /** 0: none of its calls is explained. */
  readonly explanationBytes: number
}

/** The header at `offset`, or null where there is no sound one (yet). */
export function decodeBatchHeader(view: DataView, offset: number): BatchHeader | null {
  if (offset + BATCH_HEADER_BYTES > view.byteLength) return null
  const magic = view.getUint32(offset, true)
  if (magic !== BATCH_MAGIC && magic !== EXPLAINED_MAGIC) return null
  const bytes = view.getUint32(offset + 4, true)
  const records = view.getUint32(offset + 12, true)
  const definitionBytes = view.getUint32(offset + 16, true)
  const explanationBytes = bytes - BATCH_HEADER_BYTES - records * RECORD_BYTES - definitionBytes
  if (bytes % 8 !== 0 || (magic === BATCH_MAGIC ? explanationBytes !== 0 : explanationBytes <= 0)) return null
  return { bytes, records, definitionBytes, firstDefinition: view.getUint32(offset + 20, true), explanationBytes }
}

export function isWhole(buffer: ArrayBuffer, offset: number, header: BatchHeader): boolean {
  if (offset + header.bytes > buffer.byteLength) return false
  const stored = new DataView(buffer).getUint32(offset + 8, true)
  return crc32(new Uint8Array(buffer, offset + CRC_FROM, header.bytes - CRC_FROM)) === stored
}

export function decodeDefinitions(buffer: ArrayBuffer, offset: number, header: BatchHeader): readonly Attribution[] {
  if (header.definitionBytes === 0) return []
  const from = offset + BATCH_HEADER_BYTES + header.records * RECORD_BYTES
  return JSON.parse(Buffer.from(buffer, from, header.definitionBytes).toString('utf8')) as Attribution[]
}

/** The explanations of a whole batch, by the number of their record. */
export function decodeBatchExplanations(
  buffer: ArrayBuffer,
  offset: number,
  { bytes, explanationBytes }: BatchHeader,
): ReadonlyMap<number, string> {
  return decodeExplanations(Buffer.from(buffer, offset + bytes - explanationBytes, explanationBytes))
}

function encodeDefinitions(definitions: readonly Attribution[]): Buffer {
  const text = Buffer.from(JSON.stringify(definitions), 'utf8')
  const padding = (8 - (text.length % 8)) % 8
  return padding === 0 ? text : Buffer.concat([text, Buffer.alloc(padding, ' ')])
}
