/**
 * Opens the control socket, through which `tollgate backup` reaches the running service. If it cannot be
 * opened, the service runs without it.
 */

import type { Holds } from '../storage/backup/control-session.ts'
import { openControlSocket } from '../storage/backup/control-socket.ts'
import type { Config } from './config.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'

export interface ControlOptions {
  readonly config: Pick<Config, 'dataDir'>
  readonly holds: Holds
  readonly clock: Clock
  readonly log: Log
  readonly opened: Opened
}

export async function openControl({ config, holds, clock, log, opened }: ControlOptions): Promise<void> {
  const { dataDir } = config
  try {
    const onFailure = (cause: unknown): void =>
      log.error({ err: cause }, 'backup failed in the service; inserts and the spool are released')
    const socket = await openControlSocket({ ...holds, dataDir, clock, onFailure })
    opened('control socket', () => socket.close())
  } catch (cause) {
    log.error({ err: cause, dataDir }, 'control socket cannot be opened; backups need the service to be stopped')
  }
}
