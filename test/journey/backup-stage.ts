/** A service with load on three consumers, for journeys that back it up and restore the copies. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ledgerDocument, startLedgerBackend } from './ledger-backend.ts'
import { billOf } from './load.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'
import { tollgate } from './tollgate.ts'

export interface BackupStage {
  readonly service: Service
  readonly callers: readonly Enrolled[]
  /** For backups. */
  readonly folder: string
  /** Returns the bill once it contains every answered call. */
  settledBill(): Promise<ReadonlyMap<string, number>>
  remove(): Promise<void>
}

const CONSUMERS = ['Ada', 'Bea', 'Cid']

export async function openBackupStage(): Promise<BackupStage> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-backup-'))
  const backend = await startLedgerBackend()
  const service = await createService({ args: ['--empty'] })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  const callers: Enrolled[] = []
  for (const name of CONSUMERS) callers.push(await enrol(service, 'ledger-v1', { name }))
  return {
    service,
    callers,
    folder,
    async settledBill() {
      await service.stop()
      await service.start()
      return billOf(service)
    },
    async remove() {
      await service.remove()
      await backend.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Restores a backup and starts a service on it, on other ports. */
export async function openRestored(backup: string): Promise<Service> {
  const dataDir = `${backup}-restored`
  const { code, err } = await tollgate(['restore', backup, '--data-dir', dataDir])
  expect([code, err]).toEqual([0, ''])
  const restored = await createService({ args: ['--empty'], dataDir })
  await restored.start()
  // A clean stop stores all recorded calls.
  await restored.stop()
  await restored.start()
  return restored
}
