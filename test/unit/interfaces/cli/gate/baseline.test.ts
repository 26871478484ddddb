import { describe, expect, it } from 'vitest'
import { readBaseline, toBaselineText } from '../../../../../src/interfaces/cli/gate/baseline.ts'

const finding = (fingerprint: string) => ({ rule: 'example', pointer: '/paths', fingerprint })
const read = (documents: ReadonlyMap<string, readonly ReturnType<typeof finding>[]>) =>
  readBaseline('b.json', JSON.parse(toBaselineText(documents)) as Record<string, unknown>)

describe('A baseline', () => {
  it('knows as many findings of a fingerprint as it was written with, in each document', () => {
    const baseline = read(new Map([['./apis/a.yaml', [finding('1'), finding('1'), finding('2')]]]))
    const isKnown = baseline.openDocument('apis/a.yaml')
    expect(['1', '1', '1', '2', '3'].map((each) => isKnown(finding(each)))).toEqual([true, true, false, true, false])
    expect(baseline.openDocument('apis/a.yaml')(finding('1'))).toBe(true)
    expect(baseline.openDocument('b.yaml')(finding('1'))).toBe(false)
  })

  it('is the same text whatever the order of the findings', () => {
    const [a, b] = [
      { ...finding('1'), rule: 'a' },
      { ...finding('2'), rule: 'b' },
    ]
    expect(toBaselineText(new Map([['x', [a, b]]]))).toBe(toBaselineText(new Map([['x', [b, a]]])))
  })

  it.each([
    [{}, '`version` must be 1'],
    [{ version: 1, documents: { a: {} } }, '`documents` must hold lists'],
    [{ version: 1, documents: { a: [{}] } }, 'a finding has no `fingerprint`'],
  ])('is refused as %j', (content, why) => {
    expect(() => readBaseline('b.json', content)).toThrow(`--baseline b.json: ${why}`)
  })
})
