import { describe, expect, it } from 'vitest'
import { PAYMENTS } from '../../../fixtures/test-platform.ts'
import { base64, openProgrammes, version } from '../../../fixtures/test-programmes.ts'

describe('the validation of a document', () => {
  it('returns score, findings, breaking changes, security and advice, and stores nothing', async () => {
    const { platform, token, read } = await openProgrammes()
    const body = {
      specification: base64(version('1.9.0').replace('  /payments:', '  /pay-ins:')),
      previous: base64(PAYMENTS),
    }
    const { status, body: result } = await platform.send('POST', '/v1/programmes/validate', { token, body })

    expect(status).toBe(200)
    expect(result).toMatchObject({ score: expect.any(Number) as number, compliance: { servable: true, omitted: 0 } })
    expect(result['breakingChanges']).toContainEqual(
      expect.objectContaining({ id: 'operation.removed', level: 'breaking' }),
    )
    const CHANGELOG =
      /^# Changes of the API\n\n### Breaking\n\n- GET .*\n- POST \/payments: The operation was removed\. .*\n\n### Added\n/
    expect(result['changelog']).toMatch(CHANGELOG)
    expect(result['changes']).toContainEqual(expect.objectContaining({ id: 'operation.added', level: 'info' }))
    expect((result['breakingChanges'] as { level: string }[]).filter(({ level }) => level !== 'breaking')).toEqual([])
    expect((await read('/v1/programmes')).body['items']).toEqual([])
    const html = await platform.send('POST', '/v1/programmes/validate', {
      token,
      body: { specification: base64('<html>') },
    })
    expect(html.body).toMatchObject({ score: 0, findings: [{ category: 'validity' }], changelog: null })
    expect(
      (await platform.send('POST', '/v1/programmes/validate', { token, body: { specification: '%' } })).status,
    ).toBe(400)
  })
})
