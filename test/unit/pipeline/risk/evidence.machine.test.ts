import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createEvidence } from '../../../../src/pipeline/risk/evidence.ts'

it('keeps evidence small enough for ten thousand events in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): number => {
    collect()
    return getHeapStatistics().used_heap_size
  }
  const evidence = createEvidence()
  evidence.add({ status: 503, reason: 'refused', operation: 'read', requestId: 'r503' })
  const before = used()
  const shown = Array.from({ length: 10_000 }, () => evidence.show())
  const bytes = (used() - before) / shown.length

  expect(bytes).toBeLessThan(2_000)
  expect(shown).toHaveLength(10_000)
})
