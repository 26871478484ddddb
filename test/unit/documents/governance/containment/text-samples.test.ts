import { expect, it } from 'vitest'
import { kindOf } from '../../../../../src/documents/governance/compare/difference.ts'
import { samplesOfFormat } from '../../../../../src/documents/governance/containment/text-samples.ts'

it.each(['constructor', '__proto__', 'toString', ''])('knows no format and no keyword %j', (name) => {
  expect(samplesOfFormat(name)).toEqual([])
  expect(kindOf(name)).toBe('other')
})

it('knows the formats of dates', () => {
  expect(samplesOfFormat('date')).toEqual(['2026-01-02', '2026-13-02'])
})
