/**
 * The optional last section of a batch: explanations of refused calls, and traces of sampled calls (`call-trace.ts`).
 *
 *   section = entries, bytes of the texts (u32 each), entry*, texts: JSON array of strings, padded with spaces to 8
 *   entry   = number of the record in the batch, number of its text (u32 each)
 *
 * The trace of a record has the number of the record plus `TRACES_FROM`, which no record has: versions that know no traces read the
 * batch, and find explanations only.
 *
 * Equal texts of a batch are written once, so that a flood of one kind of refusal costs 8 bytes per call. The size is bounded:
 * records above the bound have no explanation, or no trace. A batch of served calls without traces has no section.
 */

/** Upper bound for the texts of one batch. */
const TEXT_BYTES_MAX = 256 * 1024
/** Upper bound for the traces of one batch. */
const TRACE_BYTES_MAX = 1024 * 1024
/** Above the number of any record in a batch. */
export const TRACES_FROM = 1 << 20
export const EXPLANATION_HEAD_BYTES = 8
const ENTRY_BYTES = 8
/** A section with one entry and the shortest text. An empty section is not written. */
export const EXPLANATION_SECTION_BYTES_MIN = EXPLANATION_HEAD_BYTES + ENTRY_BYTES + 8

export class ExplanationSection {
  readonly #numbers = new Map<string, number>()
  #entries: number[] = []
  #textBytes = 0
  #traceBytes = 0

  /** Returns false if the section is full. */
  add(record: number, text: string): boolean {
    let number = this.#numbers.get(text)
    if (number === undefined) {
      const bytes = Buffer.byteLength(text)
      if (this.#textBytes + bytes > TEXT_BYTES_MAX) return false
      this.#textBytes += bytes
      number = this.#numbers.size
      this.#numbers.set(text, number)
    }
    this.#entries.push(record, number)
    return true
  }

  /** Adds the trace of a record, whose characters are ASCII. Returns false if the section is full. */
  addTrace(record: number, text: string): boolean {
    if (this.#traceBytes + text.length > TRACE_BYTES_MAX) return false
    this.#traceBytes += text.length
    const number = this.#numbers.get(text) ?? this.#numbers.size
    this.#numbers.set(text, number)
    this.#entries.push(record + TRACES_FROM, number)
    return true
  }

  clear(): void {
    if (this.#entries.length === 0) return
    this.#numbers.clear()
    this.#entries = []
    this.#textBytes = 0
    this.#traceBytes = 0
  }

  /** Returns the bytes, or null if there is nothing to write. Empties the section. */
  seal(): Buffer | null {
    if (this.#entries.length === 0) return null
    const texts = Buffer.from(JSON.stringify([...this.#numbers.keys()]), 'utf8')
    const entriesEnd = EXPLANATION_HEAD_BYTES + this.#entries.length * 4
    const bytes = Buffer.alloc(entriesEnd + Math.ceil(texts.length / 8) * 8, ' ')
    bytes.writeUInt32LE(this.#entries.length / 2, 0)
    bytes.writeUInt32LE(bytes.length - entriesEnd, 4)
    this.#entries.forEach((number, index) => bytes.writeUInt32LE(number, EXPLANATION_HEAD_BYTES + index * 4))
    texts.copy(bytes, entriesEnd)
    this.clear()
    return bytes
  }
}

/** Length of the section whose head is at `offset`. */
export function explanationSectionBytes(view: DataView, offset: number): number {
  return EXPLANATION_HEAD_BYTES + view.getUint32(offset, true) * ENTRY_BYTES + view.getUint32(offset + 4, true)
}

/** Decodes the texts of a section by the number of their entry. Throws if the bytes are not a section. */
export function decodeExplanations(section: Buffer): ReadonlyMap<number, string> {
  const found = new Map<number, string>()
  const entries = section.readUInt32LE(0)
  const textsFrom = EXPLANATION_HEAD_BYTES + entries * ENTRY_BYTES
  const texts: unknown = JSON.parse(section.toString('utf8', textsFrom, textsFrom + section.readUInt32LE(4)))
  if (!Array.isArray(texts)) throw new Error('the explanations of a batch are damaged')
  for (let at = EXPLANATION_HEAD_BYTES; at < textsFrom; at += ENTRY_BYTES) {
    const text: unknown = texts[section.readUInt32LE(at + 4)]
    if (typeof text === 'string') found.set(section.readUInt32LE(at), text)
  }
  return found
}
