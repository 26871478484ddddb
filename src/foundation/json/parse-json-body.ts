/** Parses a JSON body of a client, and refuses one that is nested too deeply, has too many members or repeats a name. */

import { scanJson, type JsonFault } from './json-scan.ts'

export type JsonResult = { readonly value: unknown } | JsonBodyFault

interface JsonBodyFault {
  readonly fault: string
  /** The body may be valid; it is refused to bound the work. */
  readonly exceedsBounds?: boolean
}

/** Objects of as many different names take 40 ms to scan and parse. */
const BOUNDS = { depthMax: 64, membersMax: 50_000 }
const FAULTS: Readonly<Record<JsonFault['kind'], string>> = {
  broken: 'The body is not valid JSON.',
  doubled: 'An object has two members with the same name.',
  deep: `The body is nested more than ${BOUNDS.depthMax} levels deep.`,
  wide: `The body has more than ${BOUNDS.membersMax} members.`,
}

/** Keeps a byte order mark, which is not valid JSON (RFC 8259, 8.1). */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseJsonBody(bytes: Buffer, parse: (text: string) => unknown = JSON.parse): JsonResult {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { fault: 'The body is not valid UTF-8.' }
  }
  const fault = scanJson(text, BOUNDS)
  if (fault !== null)
    return { fault: FAULTS[fault.kind], exceedsBounds: fault.kind === 'deep' || fault.kind === 'wide' }
  try {
    return { value: parse(text) }
  } catch {
    return { fault: FAULTS.broken }
  }
}
