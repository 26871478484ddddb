/** Modes of the files of a service, in a folder that other users may enter. */

import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
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

it('no file that a command makes in a folder that is open to others can be read by them', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-open-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  const script = `
    import { writeFileSync } from 'node:fs'
    import { runCommand } from ${JSON.stringify(join(import.meta.dirname, '../../src/interfaces/maintenance/folder-command.ts'))}
    process.umask(0o022)
    await runCommand(() => {
      writeFileSync('made', '')
      return 'done'
    })`
  const args = ['--input-type=module', '--eval', script]
  expect(spawnSync(process.execPath, args, { cwd: dataDir, encoding: 'utf8' }).stdout).toBe('done')
  expect(statSync(join(dataDir, 'made')).mode & OF_OTHERS).toBe(0)
})
