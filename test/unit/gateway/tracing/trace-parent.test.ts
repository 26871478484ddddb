import { describe, expect, it } from 'vitest'
import { readTraceParent, readTraceState } from '../../../../src/gateway/tracing/trace-parent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('traceparent', () => {
  it('names the trace, the span and the flags', () => {
    expect(readTraceParent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, flags: 1 })
    expect(readTraceParent(`00-${TRACE}-${SPAN}-00`)?.flags).toBe(0)
  })

  it('keeps the flags that are known, and drops the others', () => {
    expect(readTraceParent(`00-${TRACE}-${SPAN}-ff`)?.flags).toBe(3)
    expect(readTraceParent(`00-${TRACE}-${SPAN}-08`)?.flags).toBe(0)
  })

  it('of a later version may have more fields', () => {
    expect(readTraceParent(`01-${TRACE}-${SPAN}-01`)?.traceId).toBe(TRACE)
    expect(readTraceParent(`cc-${TRACE}-${SPAN}-01-what-comes.next`)?.spanId).toBe(SPAN)
  })

  it.each([
    ['nothing', ''],
    ['another version number', `ff-${TRACE}-${SPAN}-01`],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a short trace', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['more fields in version 0', `00-${TRACE}-${SPAN}-01-more`],
    ['a dash at the end', `00-${TRACE}-${SPAN}-01-`],
    ['no separator in a later version', `01-${TRACE}-${SPAN}-01more`],
    ['spaces', ` 00-${TRACE}-${SPAN}-01 `],
    ['two values', `00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`],
    ['a line break', `00-${TRACE}-${SPAN}-01\n`],
    ['a line break in a later version', `01-${TRACE}-${SPAN}-01-a\r\nx: y`],
    ['flags that are no hex', `00-${TRACE}-${SPAN}-0g`],
    ['a long text', `01-${TRACE}-${SPAN}-01-${'a'.repeat(16_000)}`],
    ['two headers', 'repeated'],
  ])('with %s counts as missing', (_, value) => {
    expect(readTraceParent(value)).toBeNull()
  })
})

describe('tracestate', () => {
  it('is passed on without spaces around members and without empty ones', () => {
    expect(readTraceState('a=1, b=x y ,\tc@d=!,,')).toBe('a=1,b=x y,c@d=!')
    expect(readTraceState(`rojo=${SPAN},congo=t61rcWkgMzE`)).toBe(`rojo=${SPAN},congo=t61rcWkgMzE`)
  })

  it('has up to 32 members and 512 characters', () => {
    const members = Array.from({ length: 32 }, (_, index) => `k${index}=v`)
    expect(readTraceState(members.join(','))).toBe(members.join(','))
    expect(readTraceState([...members, 'more=1'].join(','))).toBe('')
    const long = `${'k'.repeat(256)}=${'v'.repeat(255)}`
    expect(readTraceState(long)).toBe(long)
    expect(readTraceState(`${long}v`)).toBe('')
  })

  it.each([
    ['nothing', ''],
    ['no value', 'a='],
    ['no key', '=1'],
    ['no equals sign', 'a'],
    ['a second equals sign', 'a=1=2'],
    ['an upper-case key', 'A=1'],
    ['the same key twice', 'a=1,b=2,a=3'],
    ['a line break', 'a=1\r\nx-consumer-id: con_boss'],
    ['a control character', 'a=1\u0000'],
    ['another character', 'a=é'],
    ['one bad member among good ones', 'a=1,b'],
  ])('with %s is dropped', (_, value) => {
    expect(readTraceState(value)).toBe('')
  })
})
