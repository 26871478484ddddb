/** Converts the error from opening the store into a `StartRefused` that names the folder or the server, and the remedy. */

import { StartRefused, toStartRefused } from '../../../foundation/runtime/start-refused.ts'
import { withoutCredentials, type ClickHouseOptions } from './client.ts'

const MESSAGE_CHARS_MAX = 200
/** Error code of ClickHouse: `NOT_ENOUGH_SPACE`. */
const NOT_ENOUGH_SPACE = '243'

/** Returns a `StartRefused` unchanged. The message of the engine may not give the reason, so the caller gives the remedy. Permissions were checked before. */
export function toStoreRefused({ url, folder }: ClickHouseOptions, cause: unknown, remedy: string): Error {
  if (cause instanceof StartRefused) return cause
  const { code, message } = cause as { code?: unknown; message?: unknown }
  const reason = `${typeof code === 'string' ? `${code}: ` : ''}${String(message).slice(0, MESSAGE_CHARS_MAX)}`
  if (url !== null) {
    const server = withoutCredentials(url)
    return new StartRefused(
      `CLICKHOUSE_URL ${server} does not answer, or rejects the request (${reason}); start that server, or correct the address, user or password`,
      { cause },
    )
  }
  const refused = toStartRefused(
    folder,
    isDiskFull(cause) ? Object.assign(new Error(reason), { code: 'ENOSPC' }) : cause,
  )
  if (refused instanceof StartRefused) return refused
  return new StartRefused(`${folder} cannot be opened by the embedded store (${reason}); ${remedy}`, {
    cause,
  })
}

function isDiskFull(cause: unknown): boolean {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  return code === NOT_ENOUGH_SPACE || /No space left on device/.test(String(message))
}
