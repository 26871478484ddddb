/** The commands of `docs/operations.md` for backup and restore, run unchanged. */

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { billOf, startLoad } from './load.ts'
import { createService, enrol, publish, type Enrolled, type Service, isEmbedded } from './service.ts'
import { paste, SHELLS } from './shells.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const ROOT = join(import.meta.dirname, '../..')
const DOCS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const SECTION = DOCS.slice(DOCS.indexOf('\n## Backing up\n'), DOCS.indexOf('\n## Monitoring\n'))
const BLOCKS = [...SECTION.matchAll(/^```sh\n([^]*?)\n```$/gm)].map(([, block]) => block ?? '')
const [BACKUP = '', COPY = '', RESTORE = '', START = ''] = BLOCKS

let cwd: string
let backend: LedgerBackend
let service: Service
let caller: Enrolled

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'tollgate-operations-'))
  for (const name of ['package.json', 'node_modules', 'bin', 'packaging', 'src', 'sql'])
    symlinkSync(join(ROOT, name), join(cwd, name))
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], dataDir: join(cwd, 'data') })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  caller = await enrol(service, 'ledger-v1')
})

afterAll(async () => {
  await service.remove()
  await backend.close()
  rmSync(cwd, { recursive: true, force: true })
})

async function run(block: string): Promise<string> {
  const [shell] = SHELLS
  const { out } = await paste(shell!, `${block}\necho ended with $?`, { cwd })
  return out
}

/** Starts the service with the command of the docs, on the address of the previous one. */
async function startAsDocumented(): Promise<() => Promise<void>> {
  const address = {
    HOST: new URL(service.gatewayUrl).hostname,
    GATEWAY_PORT: new URL(service.gatewayUrl).port,
    PLATFORM_PORT: new URL(service.baseUrl).port,
  }
  const child = spawn('bash', ['-c', `exec ${START}`], {
    cwd,
    env: { ...PLAIN_ENVIRONMENT, HOME: process.env['HOME'], LOG_LEVEL: 'warn', ...address },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes(' is up ')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
  })
  return async () => {
    child.kill('SIGTERM')
    await exited
  }
}

describe('docs/operations.md', () => {
  it('has exactly the commands that this test runs', () => {
    expect(BLOCKS).toHaveLength(4)
    expect(BACKUP).toContain('tollgate backup ./backups/monday --data-dir ./data')
    expect(COPY).toBe('cp -a ./data ./backups/stopped')
    expect(RESTORE).toContain('tollgate restore')
    expect(START).toContain('npm start')
  })

  it.skipIf(!isEmbedded)(
    'backs up a running service, copies a stopped one, and restores: the bill is the same (needs the registry and the store in the folder)',
    async () => {
      const load = startLoad(service, [caller])
      await load.reached(100)
      await load.stop()
      const bill = new Map([[caller.consumer, load.tallies[0]!.whole]])

      const backup = await run(BACKUP)
      expect(backup).toContain('verified')
      expect(backup).toContain('ended with 0')
      await service.stop()
      expect(await run(COPY)).toContain('ended with 0')
      expect(await run(RESTORE)).toContain('ended with 0')

      const stop = await startAsDocumented()
      try {
        await expect.poll(() => billOf(service), { timeout: 60_000, interval: 50 }).toEqual(bill)
      } finally {
        await stop()
      }
      const copy = await createService({ args: ['--empty'], dataDir: join(cwd, 'backups/stopped') })
      await copy.start()
      expect(await billOf(copy)).toEqual(bill)
      await copy.remove()
    },
  )
})
