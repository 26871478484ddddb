import { describe, expect, it } from 'vitest'
import {
  addressesOf,
  checkAddresses,
  checkStaged,
  toBackend,
} from '../../../../src/control/publishing/backend-address.ts'

const [A, B] = ['https://a.example/base', 'https://b.example']
const targets = [{ url: A, weight: 3 }, { url: B }]

describe('a backend of several targets', () => {
  it('has the address of the first one as well, so that an earlier version can serve it', () => {
    expect(toBackend({ targets, balance: 'leastBusy', timeoutMs: 5 }, null)).toEqual({
      url: A,
      origin: 'https://a.example',
      basePath: '/base',
      targets: [
        { url: A, origin: 'https://a.example', basePath: '/base', weight: 3 },
        { url: B, origin: 'https://b.example', basePath: '' },
      ],
      balance: 'leastBusy',
      timeoutMs: 5,
    })
  })

  it('is stored as before if it has a URL', () => {
    const stored = JSON.stringify(toBackend({ url: A, timeoutMs: 5, health: '/up', connections: 9, waitMs: 8 }, null))
    expect(stored).toBe(
      '{"url":"https://a.example/base","origin":"https://a.example","basePath":"/base","timeoutMs":5,"health":"/up","connections":9,"waitMs":8}',
    )
  })

  it.each([
    ['neither a URL nor targets', {}, '/backend'],
    ['both a URL and targets', { url: A, targets }, '/backend'],
    ['no target', { targets: [] }, '/backend/targets'],
    ['the same target twice', { targets: [...targets, { url: `${A}/` }] }, '/backend/targets/2/url'],
    ['the same host and default port twice', { targets: [{ url: B }, { url: `${B}:443` }] }, '/backend/targets/1/url'],
    ['a URL and a way to balance', { url: A, balance: 'leastBusy' as const }, '/backend/balance'],
    ['a target that is no http URL', { targets: [{ url: B }, { url: 'file:///etc' }] }, '/backend/targets/1/url'],
    ['a target with a password', { targets: [{ url: 'https://a:b@c.example' }] }, '/backend/targets/0/url'],
    ['a target with a query', { targets: [{ url: `${A}?x` }] }, '/backend/targets/0/url'],
  ])('is refused with %s', (_, input, pointer) => {
    expect(() => toBackend(input, null)).toThrow(
      expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }),
    )
  })

  it('may have two targets at one host, if their paths differ', () => {
    expect(addressesOf(toBackend({ targets: [{ url: `${B}/x` }, { url: `${B}/y` }] }, null))).toHaveLength(2)
  })
})

describe('the rule for addresses', () => {
  const backend = toBackend({ targets }, null)
  const asked: string[] = []
  const rule = {
    refuse: async (tenant: string, url: string) => {
      asked.push(`${tenant} ${url}`)
      return url === B ? 'It is private.' : null
    },
  }

  it('is applied to every target, with a pointer to the refused one', async () => {
    await expect(checkAddresses(rule, 'acme', backend)).rejects.toMatchObject({
      errors: [{ pointer: '/backend/targets/1/url', detail: 'It is private.' }],
    })
    expect(asked.splice(0)).toEqual([`acme ${A}`, `acme ${B}`])
    await expect(checkAddresses(rule, 'acme', backend, '/fromRevision')).rejects.toMatchObject({
      errors: [{ pointer: '/fromRevision' }],
    })
  })

  it('is applied again to every target of a staged revision', async () => {
    await expect(checkStaged(rule, 'acme', backend, 0)).rejects.toMatchObject({ code: 'state_conflict' })
    await expect(checkStaged(rule, 'acme', toBackend({ targets: [{ url: A }] }, null), 0)).resolves.toBeUndefined()
  })
})
