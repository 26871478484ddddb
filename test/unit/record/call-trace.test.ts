import { describe, expect, it } from 'vitest'
import {
  CallTrace,
  clientSpanId,
  readTraceText,
  serverSpanId,
  toTraceText,
  type StoredTrace,
} from '../../../src/record/call-trace.ts'
import { createRandom } from '../../random.ts'

const SEED = Date.now() % 1_000_000
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

function traceWith(fields: Partial<StoredTrace>): CallTrace {
  const { parentId = SPAN, flags = 1, traceState = '' } = fields
  const own = { method: 'GET', path: '/a-v1/b', scheme: 'http', protocol: '1.1' }
  return Object.assign(new CallTrace(TRACE, parentId, flags, traceState), own, fields)
}

const read = (fields: Partial<StoredTrace>) => readTraceText(toTraceText(traceWith(fields)))

describe('A stored trace', () => {
  it('is read as it was written', () => {
    const forwarded = { forwardedUs: 12, settledUs: 345, resends: 1, upstreamMethod: 'POST', upstreamStatus: 201 }
    const written = traceWith({ ...forwarded, upstreamUrl: 'http://b:1/c', traceState: 'a=x y,b=%"\\,c=-' })
    expect(readTraceText(toTraceText(written))).toEqual({ ...written })
    expect(read({ parentId: '' })).toEqual({ ...traceWith({ parentId: '' }) })
    expect(read({ path: '', method: '' })).toMatchObject({ path: '', method: '' })
  })

  it('is ASCII without quotes and backslashes, whatever the path, and not longer than a bound', () => {
    for (const path of ['/"\\\n\u0000 é🏦', '/\ud800', `/${'a'.repeat(20_000)}`, `/${'é'.repeat(20_000)}`]) {
      const text = toTraceText(traceWith({ path, upstreamUrl: `http://b:1${path}` }))
      expect(text).toMatch(/^[ !#-[\]-~]+$/)
      expect(text.length).toBeLessThan(14_000)
      expect(readTraceText(text)?.method).toBe('GET')
    }
    expect(read({ path: '/"é' })?.path).toBe('/%22%C3%A9')
  })

  it(`is null for a text that is none, and never throws (seed ${SEED})`, () => {
    const random = createRandom(SEED)
    const text = toTraceText(traceWith({ traceState: 'a=1' }))
    for (const other of [
      '',
      ' ',
      text.slice(1),
      `${text} more`,
      text.replace('a%3D1', '%'),
      text.replace(' 1 ', ' x '),
    ])
      expect(readTraceText(other)).toBeNull()
    for (let times = 0; times < 2_000; times++) {
      const at = random.below(text.length)
      const trace = readTraceText(text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1))
      expect(trace === null || /^[0-9a-f]{32}$/.test(trace.traceId)).toBe(true)
    }
  })
})

describe('The spans of a call', () => {
  it('have different ids of 16 digits, which its request id gives', () => {
    for (const id of ['0123456789abcdef0000000a', '01234567012345670000000a']) {
      const [client, server] = [clientSpanId(id), serverSpanId(id)]
      expect(client).toMatch(/^[0-9a-f]{16}$/)
      expect(server).toMatch(/^[0-9a-f]{16}$/)
      expect(client).not.toBe(server)
    }
    expect(clientSpanId('0123456789abcdef0000000a')).toBe('89abcdef0000000a')
  })
})
