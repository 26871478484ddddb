import { describe, expect, it } from 'vitest'
import { Problem } from '../../../src/foundation/domain/problem.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const ADA = { name: 'Ada', kind: 'agent' }

/** The state in which the spool refuses every record and reports it. */
function fill(platform: TestPlatform): void {
  platform.refuseRecords = new Problem('unavailable', 'The call could not be recorded.')
  platform.cannotRecord = 'ENOSPC: no space left on device'
}

function free(platform: TestPlatform): void {
  platform.refuseRecords = null
  platform.cannotRecord = null
}

const countOf = async (platform: TestPlatform, token: string) =>
  ((await platform.send('GET', '/v1/consumers', { token })).body['items'] as unknown[]).length

describe('the platform API while the disk refuses records', () => {
  it('answers reads and counts them as unrecorded', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    fill(platform)
    expect(await platform.send('GET', '/v1/consumers', { token })).toMatchObject({ status: 200 })
    expect(await platform.send('HEAD', '/v1/consumers', { token })).toMatchObject({ status: 200 })
    expect(await platform.send('GET', '/v1/consumers/con_none', { token })).toMatchObject({ status: 404 })
    expect([platform.calls.length, platform.unrecorded]).toEqual([0, 3])
  })

  it('refuses commands with the reason before they have an effect', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    fill(platform)
    const answer = await platform.send('POST', '/v1/consumers', { token, body: ADA })
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(answer.headers['retry-after']).toBe('1')
    free(platform)
    expect(await countOf(platform, token)).toBe(0)
    expect(platform.unrecorded).toBe(0)
  })

  it('replaces a refusal that cannot be recorded by 503', async () => {
    const platform = await openTestPlatform()
    fill(platform)
    for (const sending of [{}, { token: 'guessed' }, { token: platform.token('acme', []) }])
      expect(await platform.send('GET', '/v1/consumers', sending)).toMatchObject({ status: 503 })
    expect(platform.unrecorded).toBe(0)
  })

  it('answers a command that took effect before the disk failed', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    platform.beforeRecord = async () => fill(platform)
    expect(await platform.send('POST', '/v1/consumers', { token, body: ADA })).toMatchObject({ status: 201 })
    expect(platform.unrecorded).toBe(1)
    platform.beforeRecord = async () => {}
    free(platform)
    expect(await countOf(platform, token)).toBe(1)
  })

  it('answers 503 if the registry cannot be written, for any cause', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const { commit } = platform.registry
    platform.registry.commit = () => Promise.reject(new StoreUnwritable('the registry cannot be written'))
    for (const [path, body] of [
      ['/v1/consumers', ADA],
      ['/v1/users', { username: 'ada', password: 'a long password', name: 'Ada' }],
    ] as const)
      expect(await platform.send('POST', path, { token, body })).toMatchObject({
        status: 503,
        body: { code: 'unavailable' },
      })
    platform.registry.commit = commit
    expect(await platform.send('POST', '/v1/consumers', { token, body: ADA })).toMatchObject({ status: 201 })
  })
})
