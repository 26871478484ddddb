import { describe, expect, it } from 'vitest'
import { unusableReason } from '../../../../../src/storage/store/redis/unusable-redis.ts'

function toInfo(values: Readonly<Record<string, string>>): string {
  const all = { run_id: 'abc', redis_mode: 'standalone', maxmemory: '0', maxmemory_policy: 'noeviction', ...values }
  return `# Server\r\n${Object.entries(all)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('')}`
}

describe('A Redis server', () => {
  it.each([{}, { maxmemory_policy: 'allkeys-lru' }, { maxmemory: '100' }])('with %o can keep leases', (values) => {
    expect(unusableReason(toInfo(values))).toBeNull()
  })

  it.each([
    [{ maxmemory: '100', maxmemory_policy: 'volatile-ttl' }, 'noeviction'],
    [{ redis_mode: 'cluster' }, 'cluster mode'],
  ])('with %o cannot', (values, reason) => {
    expect(unusableReason(toInfo(values))).toContain(reason)
  })

  it('that does not report its run id cannot', () => {
    expect(unusableReason('')).toContain('run id')
  })
})
