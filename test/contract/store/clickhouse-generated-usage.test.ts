/** The benches fill a store with statements of their own, which the schema must accept. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { DAY, FIRST, generateUsage } from '../../../bench/generate-usage.ts'
import { openUsageService } from './removed-usage.ts'

it('Usage of the benches can be generated and summed up', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'generated-'))
  const { client, usage } = await openUsageService(folder)
  onTestFinished(async () => {
    await client.close()
    rmSync(folder, { recursive: true })
  })
  await generateUsage(client, { tenant: 'acme', items: 2_000, days: 1 })
  const { rows } = await usage.summaries({
    tenant: 'acme',
    fromMs: FIRST,
    toMs: FIRST + DAY,
    groupBy: ['api'],
    limit: 50,
  })
  expect(rows).toHaveLength(20)
  expect(rows.filter(({ calls }) => calls === 0)).toEqual([])
})
