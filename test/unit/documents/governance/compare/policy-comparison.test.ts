import { describe, expect, it } from 'vitest'
import { POLICY_RULES } from '../../../../../src/documents/governance/compare/policy-rules.ts'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { asked, NOW_MS, query, read, sent, text, toDocument, type Json } from './small-documents.ts'

const deprecated = (more: Json = {}) => toDocument({ deprecated: true, ...more })
const stable = (level?: string) => toDocument(level === undefined ? {} : { 'x-stability-level': level })
const extensible = (...values: string[]) => sent({ ...text, 'x-extensible-enum': values })

async function check(before: unknown, after: unknown, rules: Json): Promise<readonly string[]> {
  const changes = compareDocuments(await read(before), await read(after), NOW_MS, { ruleset: { rules } })
  return changes.map(({ level, id }) => `${level} ${id}`).filter((each) => !each.endsWith('operation.deprecated'))
}

const CASES: readonly (readonly [rule: string, what: string, before: unknown, after: unknown, found: boolean])[] = [
  ['operation.sunset.missing', 'a deprecation without sunset', toDocument(), deprecated(), true],
  [
    'operation.sunset.missing',
    'a sunset that is withdrawn',
    deprecated({ 'x-sunset': '2030-01-01' }),
    deprecated(),
    true,
  ],
  [
    'operation.sunset.missing',
    'what was deprecated before',
    deprecated(),
    deprecated({ summary: 'a', tags: ['b'] }),
    false,
  ],
  ['operation.sunset.near', 'a sunset in 89 days', toDocument(), deprecated({ 'x-sunset': '2027-04-14' }), true],
  ['operation.sunset.near', 'a sunset in 90 days', toDocument(), deprecated({ 'x-sunset': '2027-04-15' }), false],
  ['operation.stability.lowered', 'a lower stability level', stable('stable'), stable('beta'), true],
  ['operation.stability.lowered', 'a stability level that is removed', stable('alpha'), stable(), true],
  ['operation.stability.lowered', 'a higher stability level', stable('alpha'), stable('beta'), false],
  ['enum.extensible.removed', 'a value less', extensible('EUR', 'USD'), extensible('EUR'), true],
  ['enum.extensible.removed', 'a value more', extensible('EUR'), extensible('EUR', 'USD'), false],
  ['operation.renamed', 'another operationId', toDocument(), toDocument({ operationId: 'alter' }), true],
  [
    'request.default',
    'another default',
    asked(query({ schema: { ...text, default: 'a' } })),
    asked(query({ schema: { ...text, default: 'b' } })),
    true,
  ],
]

describe('A policy check', () => {
  it.each(CASES)('%s finds %s: %#', async (rule, _, before, after, found) => {
    expect(await check(before, after, { [rule]: 'error' })).toEqual(found ? [`breaking ${rule}`] : [])
    expect(await check(before, after, { [rule]: 'info' })).toEqual(found ? [`info ${rule}`] : [])
    expect(await check(before, after, { [rule]: 'off' })).toEqual([])
  })

  it('is known by every policy rule, and is off unless it was always reported', async () => {
    expect(new Set(CASES.map(([rule]) => rule))).toEqual(new Set(POLICY_RULES.keys()))
    expect(await check(toDocument(), deprecated(), {})).toEqual([])
    expect(await check(toDocument(), deprecated(), { 'operation.sunset.missing': true })).toEqual([
      'warning operation.sunset.missing',
    ])
  })

  it('cannot switch off what breaks callers', async () => {
    expect(await check(sent(text), sent({ ...text, maxLength: 1 }), { 'request.bound': 'off' })).toEqual([
      'breaking request.bound',
    ])
  })
})
