/** The writers that a backup pauses: removal of spool segments, and the embedded store. */

import { join } from 'node:path'
import type { Holds } from '../storage/backup/control-session.ts'
import type { Config } from './config.ts'
import { PLATFORM_API } from '../foundation/domain/platform-api.ts'
import type { SpoolReader } from '../storage/spool/spool-reader.ts'
import type { ClickHouse } from '../storage/store/clickhouse/client.ts'
import { createStoreFreezer } from '../storage/store/clickhouse/frozen-store.ts'

export function createStoreHold(
  client: ClickHouse,
  { clickhouseUrl: url, dataDir }: Pick<Config, 'clickhouseUrl' | 'dataDir'>,
): Pick<Holds, 'freezeStore' | 'thawStore'> {
  const freezer = createStoreFreezer({ client, url, folder: join(dataDir, 'clickhouse'), leaveOut: PLATFORM_API })
  return { freezeStore: () => freezer.freeze('backup'), thawStore: freezer.thaw }
}

/** Wraps a reader so that a backup can keep its segments while it copies them; the next release removes them. */
export function keepSegments(reader: SpoolReader): { readonly reader: SpoolReader; keepSpool: () => () => void } {
  let isKept = false
  return {
    reader: {
      ...reader,
      release(position) {
        if (!isKept) reader.release(position)
      },
    },
    keepSpool() {
      isKept = true
      return () => (isKept = false)
    },
  }
}
