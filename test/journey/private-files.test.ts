/** Modes of the files of a service, in a folder that other users may enter. */

import { chmodSync, globSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createService } from './service.ts'

const OF_OTHERS = 0o077

it('no file of a data folder that is open to others can be read by them', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-open-'))
  chmodSync(dataDir, 0o755)
  const service = await createService({ dataDir })
  try {
    await service.start()
    const entries = globSync('**/*', { cwd: dataDir })
    expect(entries).toContain('registry.db')
    const open = entries.filter(
      (name) => (statSync(join(dataDir, name), { throwIfNoEntry: false })?.mode ?? 0) & OF_OTHERS,
    )
    expect(open).toEqual([])
    expect(await service.stop()).toBe(0)
  } finally {
    await service.remove()
  }
})
