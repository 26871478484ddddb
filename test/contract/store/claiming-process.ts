/** Does a claimed job until it is killed, and prints when it starts. */

import { writeSync } from 'node:fs'
import { createClaimedJob } from '../../../src/control/command/claimed-job.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { openPostgres } from '../../../src/storage/store/postgres/open-postgres.ts'

const [, , url = '', holder = '', ttlMs = ''] = process.argv
const ignore = (): void => {}
const { claims } = await openPostgres({
  url,
  nodeName: holder,
  clock: systemClock,
  onFailed: ignore,
  onRewound: ignore,
  onReplaced: ignore,
})
const job = createClaimedJob({
  claims,
  name: 'job',
  holder,
  clock: systemClock,
  ttlMs: Number(ttlMs),
  create: () => ({
    async start() {
      writeSync(1, 'started\n')
    },
    stop: ignore,
  }),
  onFailed: ignore,
})
await job.start()
