/** The threads of a service, one of which exists while documents are checked and for twenty seconds after it. */

import { readFileSync, readdirSync } from 'node:fs'
import type { Service } from './service.ts'

/** Names of the threads that execute JavaScript, except the main thread. */
export function workers(pid: number): readonly string[] {
  const names = readdirSync(`/proc/${pid}/task`).map((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim()
    } catch {
      return 'ended meanwhile'
    }
  })
  return names.filter((name) => /^(gateway-|document)/.test(name)).sort()
}

/** Has the service check the document of the platform API, the largest that it has. */
export async function checkOwnDocument({ baseUrl, platform }: Service): Promise<void> {
  const document = await (await fetch(`${baseUrl}/openapi.json`)).text()
  await platform.post('/v1/programmes/validate', { specification: Buffer.from(document).toString('base64') })
}
