/** The last good configuration: the copy of the registry from which a node serves calls if it starts while PostgreSQL is away. */

import { join } from 'node:path'
import type { Config } from './config.ts'
import { keepCopy, type CopyKeeper } from '../storage/nodes/keep-copy.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'
import { StartRefused } from '../foundation/runtime/start-refused.ts'
import type { Vault } from '../foundation/runtime/vault.ts'
import { readVersion } from '../foundation/runtime/version.ts'
import type { CopyOrigin, RegistryCopy, RegistryMark } from '../storage/store/registry-copy.ts'
import type { Postgres } from '../storage/store/postgres/open-postgres.ts'
import { LAST_GOOD_FILE, openOrReplaceCopy, openRegistryCopy } from '../storage/store/sqlite/registry-copy.ts'
import { DELIVERY_KIND } from '../control/webhooks/delivery-document.ts'

export interface LastGoodOptions {
  readonly config: Pick<Config, 'dataDir' | 'gatewayUrl'>
  readonly vault: Pick<Vault, 'keyedHash'>
  readonly lineage: string
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
}

/** A complete copy. */
export interface LastGood {
  readonly copy: RegistryCopy
  readonly mark: RegistryMark
}

/** Deliveries outnumber all other documents, and a node sends none without PostgreSQL. */
const NOT_COPIED = [DELIVERY_KIND]

/** Opens the copy in place of PostgreSQL. Throws `StartRefused` if it cannot be used, and `away`, which says why PostgreSQL cannot, if there is none. */
export function openLastGood(options: LastGoodOptions, away: StartRefused): LastGood {
  const path = join(options.config.dataDir, LAST_GOOD_FILE)
  const refuse = (reason: string): never => {
    throw new StartRefused(`${away.message}; this node cannot serve calls without it: ${reason}`, { cause: away })
  }
  const copy = openRegistryCopy(path, originOf(options))
  if ('fault' in copy) {
    if (copy.isMissing) throw away
    return refuse(`${path} ${copy.fault}`)
  }
  const { mark, notes } = copy
  if (mark !== null && notes.isListed) return { copy, mark }
  copy.close()
  return refuse('it left the list of nodes when it was stopped, so that commands of other nodes do not wait for it')
}

/** Opens the copy to keep it. The caller closes it. */
export function openCopyToKeep(options: LastGoodOptions): RegistryCopy {
  const { config, log, count } = options
  return openOrReplaceCopy(join(config.dataDir, LAST_GOOD_FILE), originOf(options), (fault) => {
    count('last_good_replaced')
    log.error({ file: LAST_GOOD_FILE, fault }, 'the copy of the configuration cannot be used; it is written anew')
  })
}

export interface KeptParts extends Pick<Postgres, 'registry' | 'snapshots'> {
  readonly copy: RegistryCopy
  /** Kinds of documents whose changes the node acknowledges once they are in effect. */
  readonly effective: ReadonlySet<string>
}

/** Keeps the copy up to date from now on. */
export function keepLastGood(
  { copy, registry, snapshots, effective }: KeptParts,
  { clock, log, count }: Pick<LastGoodOptions, 'clock' | 'log' | 'count'>,
  position: number,
): CopyKeeper {
  const onFailed = (cause: unknown): void => {
    count('last_good_not_written')
    log.error(
      { err: cause, file: LAST_GOOD_FILE },
      'the copy of the configuration is not up to date; a start without PostgreSQL would use an older one; retrying',
    )
  }
  return keepCopy({ copy, registry, snapshots, except: NOT_COPIED, effective, clock, onFailed }, position)
}

function originOf({ config, vault, lineage }: LastGoodOptions): CopyOrigin {
  const fingerprint = vault.keyedHash('last good configuration')
  return { lineage, fingerprint, gatewayUrl: config.gatewayUrl ?? '', version: readVersion() }
}
