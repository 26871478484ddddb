/** Takes the ids of a node from its data folder, which may be a copy, or have moved while the former process goes on elsewhere. */

import { join } from 'node:path'
import type { Config } from './config.ts'
import { discardJournals } from '../boundary/leases/lease-journal-file.ts'
import { claimIds, type NodeIds } from '../storage/nodes/incarnation.ts'
import { readBoot } from '../storage/spool/running-mark.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Nodes } from '../storage/store/nodes.ts'
import { LAST_GOOD_FILE, removeCopy } from '../storage/store/sqlite/registry-copy.ts'

export interface ClaimFolderOptions {
  readonly config: Pick<Config, 'dataDir'>
  readonly log: Log
  readonly count: CountEvent
}

/** This process holds the lock of the folder. Throws `StartRefused`. */
export function claimFolder({ config: { dataDir }, log, count }: ClaimFolderOptions): NodeIds {
  return claimIds({
    dataDir,
    bootId: readBoot() || null,
    onRenewal(isCopied) {
      // The former process may still spend what the journals say that it holds.
      const files = discardJournals(dataDir)
      if (files.length > 0) {
        count('lease_journal_discarded')
        log.warn(
          { files },
          'the data folder is a copy or has moved, or its machine has started anew; this node takes new leases, and what was held before counts as used until the windows end',
        )
      }
      // Others may neither wait for that process nor name it any more.
      if (isCopied) removeCopy(join(dataDir, LAST_GOOD_FILE))
    },
  })
}

/** Says that a former process of the folder is still in the list, once this one is. */
export async function noteFormer(
  { log, count }: Pick<ClaimFolderOptions, 'log' | 'count'>,
  lineage: string,
  nodes: Pick<Nodes, 'list'>,
): Promise<void> {
  const own = (await nodes.list()).filter((node) => node.lineage === lineage)
  if (!own.some(({ isReplaced }) => isReplaced)) return
  count('node_replaced')
  log.warn(
    {},
    'the former process of this data folder did not leave the list of nodes, and may go on elsewhere: commands name it until it reports, `tollgate nodes remove` removes it, or MAX_STALENESS_SECONDS has passed',
  )
}
