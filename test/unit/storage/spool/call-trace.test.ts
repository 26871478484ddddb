import { describe, expect, it } from 'vitest'
import {
  CallTrace,
  clientSpanId,
  countSpans,
  readTraceText,
  serverSpanId,
  toTraceText,
  type StoredTrace,
} from '../../../../src/storage/spool/call-trace.ts'
import { createRandom } from '../../../random.ts'
import { readSeed } from '../../../random-seed.ts'

const SEED = readSeed(1)
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const FORWARDED = { forwardedUs: 12, settledUs: 345, resends: 1, upstreamMethod: 'POST', upstreamStatus: 201 }

function traceWith(fields: Partial<StoredTrace>): CallTrace {
  const { parentId = SPAN, flags = 1, traceState = '' } = fields
  const own = { method: 'GET', path: '/a-v1/b', scheme: 'http', protocol: '1.1' }
  return Object.assign(new CallTrace(TRACE, parentId, flags, traceState), own, fields)
}

const read = (fields: Partial<StoredTrace>) => readTraceText(toTraceText(traceWith(fields)))

describe('A stored trace', () => {
  it('is read as it was written', () => {
    const written = traceWith({ ...FORWARDED, upstreamUrl: 'http://b:1/c', traceState: 'a=x y,b=%"\\,c=-' })
    expect(readTraceText(toTraceText(written))).toEqual({ ...written })
    expect(read({ parentId: '' })).toEqual({ ...traceWith({ parentId: '' }) })
    expect(read({ path: '', method: '' })).toMatchObject({ path: '', method: '' })
  })

  it('is ASCII without quotes and backslashes, whatever the path, and not longer than a bound', () => {
    for (const path of ['/"\\\n\u0000 é🏦', '/\ud800', `/${'a'.repeat(20_000)}`, `/${'é'.repeat(20_000)}`]) {
      const traceState = `a=${'x'.repeat(250)},b=${'x'.repeat(257)}`
      const text = toTraceText(
        traceWith({ ...FORWARDED, traceState, path, method: path, upstreamUrl: `http://b:1${path}` }),
      )
      expect(text).toMatch(/^[ !#-[\]-~]+$/)
      expect(text.length).toBeLessThan(2_800)
      expect(readTraceText(text)?.scheme).toBe('http')
    }
    expect(read({ path: '/"é' })?.path).toBe('/%22%C3%A9')
  })

  it('of a caller without a subscription is short, forwarded or not', () => {
    const path = `/${'é'.repeat(1_010)}`
    const traceState = `a=${'x'.repeat(126)}`
    const lengthOf = (fields: Partial<StoredTrace>): number =>
      toTraceText(traceWith({ method: 'x'.repeat(1_000), path, traceState, ...fields }), true).length
    expect(lengthOf({})).toBeLessThan(200)
    expect(lengthOf({ ...FORWARDED, upstreamUrl: `http://b:1${path}` })).toBeLessThan(640)
  })

  it('is cut after its escapes, and between them', () => {
    const pathOf = (path: string): string | undefined => readTraceText(toTraceText(traceWith({ path }), true))?.path
    for (const start of ['/', '/a', '/ab']) {
      const path = pathOf(start + ' '.repeat(1_000))
      expect(path).toMatch(/^\/a?b?(?:%20)+$/)
      expect(path?.length).toBeGreaterThan(61)
      expect(path?.length).toBeLessThanOrEqual(64)
    }
    expect(pathOf(`/${'a'.repeat(63)}`)).toBe(`/${'a'.repeat(63)}`)
    expect(pathOf(`/${'a'.repeat(64)}`)).toBe(`/${'a'.repeat(63)}`)
    expect(read({ path: `/${'a'.repeat(64)}` })?.path).toHaveLength(65)
  })

  it('has a tracestate only if the call was forwarded, and only a whole one', () => {
    const longest = `a=${'x'.repeat(250)},b=${'x'.repeat(257)}`
    expect(read({ traceState: 'a=1' })?.traceState).toBe('')
    expect(read({ ...FORWARDED, traceState: longest })?.traceState).toBe(longest)
    expect(read({ ...FORWARDED, traceState: `${longest.slice(0, -1)}"` })?.traceState).toBe('')
    const ofStranger = toTraceText(traceWith({ ...FORWARDED, traceState: `a=${'x'.repeat(127)}` }), true)
    expect(readTraceText(ofStranger)?.traceState).toBe('')
  })

  it('tells how many spans it stands for, without being read', () => {
    expect(countSpans(toTraceText(traceWith({})))).toBe(1)
    expect(countSpans(toTraceText(traceWith(FORWARDED)))).toBe(2)
    expect(['', 'nonsense', ' '.repeat(6)].map(countSpans)).toEqual([1, 1, 1])
  })

  it(`is null for a text that is none, and never throws (seed ${SEED})`, () => {
    const random = createRandom(SEED)
    const text = toTraceText(traceWith({ ...FORWARDED, traceState: 'a=%' }))
    for (const other of [
      '',
      ' ',
      text.slice(1),
      `${text} more`,
      text.replace('a=%25', '%'),
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
