/** The settings of the server that stores usage, for commands that take few settings. */

import type { RequestLogMode } from '../../pipeline/metering/request-log.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import { address, cluster } from '../../foundation/settings/setting-values.ts'

const REQUEST_LOGS: readonly RequestLogMode[] = ['refused', 'all', 'off']

/** Throws `StartRefused`. */
export function readRequestLog(): RequestLogMode {
  const mode = REQUEST_LOGS.find((each) => each === (process.env['REQUEST_LOG'] || 'refused'))
  if (mode === undefined) throw new StartRefused(`REQUEST_LOG is one of ${REQUEST_LOGS.join(', ')}`)
  return mode
}

export interface StoreSettings {
  readonly clickhouseUrl: string | null
  readonly clickhouseCluster: string | null
}

/** Throws `StartRefused`. */
export function readStoreSettings(): StoreSettings {
  const { CLICKHOUSE_URL: url = '', CLICKHOUSE_CLUSTER: name = '' } = process.env
  const server = url === '' ? { value: null } : address(url)
  // Not repeated: it may have a password.
  if (!('value' in server)) throw new StartRefused('CLICKHOUSE_URL is not a URL of a ClickHouse server')
  const named = name === '' ? { value: null } : cluster(name)
  if (!('value' in named)) throw new StartRefused(`CLICKHOUSE_CLUSTER takes ${named.takes}`)
  if (named.value !== null && server.value === null)
    throw new StartRefused('CLICKHOUSE_CLUSTER names a cluster of the server of CLICKHOUSE_URL, which is not set')
  return { clickhouseUrl: server.value, clickhouseCluster: named.value }
}
