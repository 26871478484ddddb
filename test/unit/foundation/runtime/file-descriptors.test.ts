import { describe, expect, it } from 'vitest'
import { openFilesLimit, shareConnections } from '../../../../src/foundation/runtime/file-descriptors.ts'

describe('shareConnections', () => {
  it('assigns every listener its maximum if the limit is high', () => {
    expect(shareConnections(Infinity, 4)).toEqual({ clients: 20_000, backends: 4_096, platform: 11_000 })
    expect(shareConnections(1_048_576, 8)).toEqual({ clients: 20_000, backends: 4_096, platform: 11_000 })
  })

  it('never assigns more than the limit minus the reserve, for any limit and number of threads', () => {
    for (const threads of [1, 2, 3, 16, 64]) {
      for (let limit = 0; limit < 200_000; limit = limit * 1.3 + 17) {
        const { clients, backends, platform } = shareConnections(Math.floor(limit), threads)
        const given = threads * (clients + backends) + platform
        expect(given).toBeLessThanOrEqual(Math.max(0, Math.floor(limit) - 512 - 24 * threads))
        expect(Math.min(clients, backends, platform)).toBeGreaterThanOrEqual(0)
      }
    }
  })
})

describe('openFilesLimit', () => {
  it('returns the limit of this process', () => {
    expect(openFilesLimit()).toBeGreaterThan(100)
  })
})
