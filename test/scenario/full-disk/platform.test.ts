import { describe, expect, it } from 'vitest'
import { Problem } from '../../../src/domain/problem.ts'
import { StoreUnwritable } from '../../../src/store/unwritable.ts'
import { openHouse, type House } from '../../fixtures/test-platform.ts'

const ADA = { name: 'Ada', kind: 'agent' }

/** The state in which every record is refused, and that is known. */
function fill(house: House): void {
  house.refuseRecords = new Problem('unavailable', 'The call could not be recorded.')
  house.cannotRecord = 'ENOSPC: no space left on device'
}

function free(house: House): void {
  house.refuseRecords = null
  house.cannotRecord = null
}

const countOf = async (house: House, token: string) =>
  ((await house.send('GET', '/v1/consumers', { token })).body['items'] as unknown[]).length

describe('the platform API while the disk refuses records', () => {
  it('answers reads and counts them as unrecorded', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    fill(house)
    expect(await house.send('GET', '/v1/consumers', { token })).toMatchObject({ status: 200 })
    expect(await house.send('HEAD', '/v1/consumers', { token })).toMatchObject({ status: 200 })
    expect(await house.send('GET', '/v1/consumers/con_none', { token })).toMatchObject({ status: 404 })
    expect([house.calls.length, house.unrecorded]).toEqual([0, 3])
  })

  it('refuses commands with the reason before they do anything', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    fill(house)
    const answer = await house.send('POST', '/v1/consumers', { token, body: ADA })
    expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(answer.headers['retry-after']).toBe('1')
    free(house)
    expect(await countOf(house, token)).toBe(0)
    expect(house.unrecorded).toBe(0)
  })

  it('does not answer a refusal that leaves no trace', async () => {
    const house = await openHouse()
    fill(house)
    for (const sending of [{}, { token: 'guessed' }, { token: house.token('acme', []) }])
      expect(await house.send('GET', '/v1/consumers', sending)).toMatchObject({ status: 503 })
    expect(house.unrecorded).toBe(0)
  })

  it('answers a command that was done when the disk began to refuse', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    house.beforeRecord = async () => fill(house)
    expect(await house.send('POST', '/v1/consumers', { token, body: ADA })).toMatchObject({ status: 201 })
    expect(house.unrecorded).toBe(1)
    house.beforeRecord = async () => {}
    free(house)
    expect(await countOf(house, token)).toBe(1)
  })

  it('answers 503 where the registry cannot be written, whatever refuses', async () => {
    const house = await openHouse()
    const token = house.token('acme')
    const { commit } = house.registry
    house.registry.commit = () => Promise.reject(new StoreUnwritable('the registry cannot be written'))
    for (const [path, body] of [
      ['/v1/consumers', ADA],
      ['/v1/users', { username: 'ada', password: 'a long password', name: 'Ada' }],
    ] as const)
      expect(await house.send('POST', path, { token, body })).toMatchObject({
        status: 503,
        body: { code: 'unavailable' },
      })
    house.registry.commit = commit
    expect(await house.send('POST', '/v1/consumers', { token, body: ADA })).toMatchObject({ status: 201 })
  })
})
