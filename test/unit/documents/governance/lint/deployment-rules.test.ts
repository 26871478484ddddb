import { describe, expect, it } from 'vitest'
import { lint } from '../../../../../src/documents/governance/lint/lint.ts'
import { bytesOf, clean, type Json } from './clean-document.ts'

const named = (info: Json) => clean({ root: { info: { ...(clean()['info'] as Json), ...info } } })
const WEBHOOKS = { cardIssued: { post: { operationId: 'issued', responses: { 200: { description: 'ok' } } } } }

describe('a document that needs more to be deployed', () => {
  it.each<[string, Json, string]>([
    ['a version of two numbers', named({ version: '1.2' }), 'version-form /info/version the platform uses 1.2.0.'],
    ['a number for a version', named({ version: 71 }), 'version-form /info/version the platform uses 71.0.0.'],
    [
      'a date for a version',
      named({ version: '2020-08-27' }),
      'version-form /info/version state one in `x-tollgate-version`.',
    ],
    [
      'a title in another script',
      named({ title: 'ギフトカード' }),
      'title-name /info/title state one in `x-tollgate-name`.',
    ],
    [
      'webhooks only',
      clean({ root: { paths: undefined, webhooks: WEBHOOKS } }),
      'webhooks-only /webhooks nothing to serve.',
    ],
  ])('is judged and has a finding if it has %s', async (_, document, expected) => {
    const { findings, isServable, score } = await lint(bytesOf(document))
    expect(isServable).toBe(true)
    expect(score).toBeGreaterThan(0)
    const [rule = '', pointer, ...end] = expected.split(' ')
    const finding = findings.find((each) => each.rule === rule)
    expect(finding).toMatchObject({ pointer, message: expect.stringContaining(end.join(' ')) as string })
  })

  it('has no such finding if its extensions state name and version', async () => {
    const stated = { 'x-tollgate-name': 'gift-cards', 'x-tollgate-version': '1.0.0' }
    const { findings } = await lint(bytesOf(named({ title: 'ギフトカード', version: '2020-08-27', ...stated })))
    expect(findings.map(({ rule }) => rule)).toEqual(['version-form'])
    expect(findings[0]?.message).toContain('the platform uses 1.0.0.')
  })
})
