import { expect, it } from 'vitest'
import { DocumentScanner } from '../../../../src/interfaces/platform/document-scanner.ts'
import { createRandom } from '../../../random.ts'

const MEMBERS = new Map([
  ['specification', 10_000],
  ['previous', 100],
])

function scan(body: string, cuts: readonly number[] = []) {
  const scanner = new DocumentScanner({ members: MEMBERS, bytesExpected: 16 })
  const bytes = Buffer.from(body)
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    scanner.write(bytes.subarray(from, cut))
    from = cut
  }
  const { rest, documents } = scanner.end()
  return {
    rest: rest.toString(),
    documents: Object.fromEntries(
      [...documents].map(([name, { bytes: text }]) => [name, Buffer.from(text).toString()]),
    ),
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const HASH = /^sha256:[0-9a-f]{64}$/

it('takes documents out of the root, and leaves the rest as it is', () => {
  const body = { name: 'a', specification: base64('one'), inner: { specification: 'x' }, previous: base64('two') }
  const { rest, documents } = scan(JSON.stringify(body, null, 1))
  expect(documents).toEqual({ specification: 'one', previous: 'two' })
  expect(JSON.parse(rest)).toEqual({
    ...body,
    specification: expect.stringMatching(HASH),
    previous: expect.stringMatching(HASH),
  })
})

it.each([
  ['"a name" and \\\\ in texts', '{"a\\"b": "{\\\\", "specification": "QQ=="}', 'A'],
  ['escaped slashes', `{"specification": "${base64('???>>>').replaceAll('/', '\\/')}"}`, '???>>>'],
  ['escaped characters', '{"specification": "\\u0051\\u0051=\\u003d"}', 'A'],
  ['line breaks', '{"specification": "Q\\r\\nQ\\n=="}', 'A'],
  ['an empty line before the name', '{\n\n"specification"\n:\n"QQ"}', 'A'],
])('reads %s in any pieces', (_, body, expected) => {
  const whole = scan(body)
  expect(whole.documents).toEqual({ specification: expected })
  for (let cut = 0; cut <= body.length; cut++) {
    expect(scan(body, [cut])).toEqual(whole)
    expect(scan(body, [cut, Math.min(cut + 1, body.length)])).toEqual(whole)
  }
})

it.each([
  ['a list', '["specification", "QQ=="]'],
  ['a text', '"specification"'],
  ['a member of a member', '{"a": {"specification": "QQ=="}, "b": [{"previous": "QQ=="}]}'],
  ['a name as a value', '{"a": "specification", "b": "QQ=="}'],
  ['a value that is no text', '{"specification": null, "previous": [":", "QQ=="]}'],
  ['text that is no JSON', '}}{"specification" "QQ=="'],
])('takes nothing out of %s', (_, body) => {
  expect(scan(body)).toEqual({ rest: body, documents: {} })
})

it.each([
  ['no base64', '{"specification": "a*b"}', 'payload_invalid'],
  ['an empty document', '{"specification": ""}', 'payload_invalid'],
  ['a quote', '{"specification": "QQ\\"QQ"}', 'payload_invalid'],
  ['an escape that does not exist', '{"specification": "QQ\\qQQ"}', 'payload_invalid'],
  ['a document twice', '{"specification": "QQ==", "specification": "QQ=="}', 'payload_invalid'],
  ['a document that is too long', `{"previous": "${'A'.repeat(101)}"}`, 'payload_invalid'],
  ['a rest that is too long', `{"name": "${'A'.repeat(1024 * 1024)}"}`, 'payload_too_large'],
])('refuses %s', (_, body, code) => {
  expect(() => scan(body)).toThrow(expect.objectContaining({ code }))
})

it('does not end in a document whose quote is missing', () => {
  expect(scan('{"specification": "QQ==').documents).toEqual({})
})

it('reads what JSON.parse reads, in random pieces', () => {
  const random = createRandom(3)
  const parts = ['"', '\\', '{', '}', ':', ',', '"specification"', '"previous"', 'QQ', '\\u0051', '[', ']', ' ']
  let read = 0
  for (let round = 0; round < 20_000; round++) {
    const body = `{"specification":"${Array.from({ length: random.below(12) }, () => parts[random.below(parts.length)]).join('')}"}`
    const cuts = [random.below(body.length), random.below(body.length)].sort((a, b) => a - b)
    let scanned
    try {
      scanned = scan(body, cuts)
    } catch {
      continue
    }
    let parsed
    try {
      parsed = JSON.parse(scanned.rest) as Record<string, unknown>
    } catch {
      continue
    }
    const given = JSON.parse(body) as Record<string, unknown>
    expect(Object.keys(parsed), body).toEqual(Object.keys(given))
    for (const [name, text] of Object.entries(scanned.documents)) {
      if (parsed[name] === given[name]) continue
      expect(text, body).toBe(Buffer.from(String(given[name]), 'base64').toString())
      read++
    }
  }
  expect(read).toBeGreaterThan(100)
})
