/**
 * Subject and expiry of certificates in PEM, as far as a view shows them: a reader of the DER of RFC 5280, 4.1.
 *
 * It verifies nothing: the service did so when the revision was staged.
 */

export interface CertificateFacts {
  /** "O=Example, CN=gateway". */
  readonly subject: string
  /** RFC 3339. */
  readonly expiresAt: string
}

interface Element {
  readonly tag: number
  readonly content: Uint8Array<ArrayBuffer>
}

const BLOCK = /-----BEGIN CERTIFICATE-----([A-Za-z\d+/=\s]*)-----END CERTIFICATE-----/g
const SHOWN_MAX = 16
const SEQUENCE = 0x30
const SET = 0x31
const VERSION = 0xa0
const OBJECT_ID = 0x06
const UTC_TIME = 0x17
/** Tags of strings, and their encodings. */
const ENCODINGS: ReadonlyMap<number, string> = new Map([
  [0x0c, 'utf-8'],
  [0x13, 'latin1'],
  [0x14, 'latin1'],
  [0x16, 'latin1'],
  [0x1e, 'utf-16be'],
])
/** Attributes of names (RFC 4514, 3), by the bytes of their ids below 2.5.4. */
const ATTRIBUTES: ReadonlyMap<number, string> = new Map([
  [3, 'CN'],
  [6, 'C'],
  [7, 'L'],
  [8, 'ST'],
  [9, 'STREET'],
  [10, 'O'],
  [11, 'OU'],
])

/** Returns the certificates of a text; null for one that cannot be read. */
export function readCertificates(pem: string): readonly (CertificateFacts | null)[] {
  return [...pem.matchAll(BLOCK)].slice(0, SHOWN_MAX).map(([, base64 = '']) => {
    try {
      return readCertificate(Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (each) => each.charCodeAt(0)))
    } catch {
      return null
    }
  })
}

function readCertificate(bytes: Uint8Array<ArrayBuffer>): CertificateFacts {
  const [certificate] = elementsOf(bytes)
  const [signed] = elementsOf(contentOf(certificate, SEQUENCE))
  const fields = elementsOf(contentOf(signed, SEQUENCE))
  // serialNumber, signature, issuer, validity, subject
  const at = fields[0]?.tag === VERSION ? 1 : 0
  const [, notAfter] = elementsOf(contentOf(fields[at + 3], SEQUENCE))
  return { subject: toName(contentOf(fields[at + 4], SEQUENCE)), expiresAt: toTime(notAfter) }
}

/** Throws for bytes that are no sequence of elements. */
function elementsOf(bytes: Uint8Array<ArrayBuffer>): readonly Element[] {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length;) {
    const [start, length] = lengthAt(bytes, at + 1)
    if (start + length > bytes.length) throw new Error('an element ends after its parent')
    elements.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return elements
}

/** Returns where the content starts, and how long it is. */
function lengthAt(bytes: Uint8Array, at: number): readonly [number, number] {
  const first = bytes[at]
  if (first === undefined) throw new Error('a length is missing')
  if (first < 0x80) return [at + 1, first]
  const digits = bytes.subarray(at + 1, at + 1 + (first & 0x7f))
  if (digits.length === 0 || digits.length > 3) throw new Error('a length is indefinite or too large')
  return [at + 1 + digits.length, digits.reduce((sum, digit) => sum * 256 + digit, 0)]
}

function contentOf(element: Element | undefined, tag: number): Uint8Array<ArrayBuffer> {
  if (element?.tag !== tag) throw new Error('an element of another kind was expected')
  return element.content
}

function toName(bytes: Uint8Array<ArrayBuffer>): string {
  return elementsOf(bytes)
    .flatMap((set) => elementsOf(contentOf(set, SET)))
    .map((each) => {
      const [type, value] = elementsOf(contentOf(each, SEQUENCE))
      return `${toAttribute(contentOf(type, OBJECT_ID))}=${toText(value)}`
    })
    .join(', ')
}

function toAttribute(id: Uint8Array): string {
  const [first = 0, second = 0, third = 0] = id
  const known = id.length === 3 && first === 0x55 && second === 4 ? ATTRIBUTES.get(third) : undefined
  return known ?? Array.from(id, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function toText(value: Element | undefined): string {
  const encoding = ENCODINGS.get(value?.tag ?? 0)
  if (value === undefined || encoding === undefined) throw new Error('a value is no text')
  return new TextDecoder(encoding).decode(value.content)
}

/** RFC 5280, 4.1.2.5: years of two digits are those from 1950 to 2049. */
function toTime(time: Element | undefined): string {
  const text = new TextDecoder('latin1').decode(time?.content)
  const digits = time?.tag === UTC_TIME ? (Number(text.slice(0, 2)) < 50 ? '20' : '19') + text : text
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits) ?? []
  const [year, month, day, hour, minute, second] = parts
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`).toISOString()
}
