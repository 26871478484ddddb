/**
 * Memory over a long mixed load: good calls, and beside them refused ones of every kind by parties that
 * come and go, so that episodes open and clear. What is told is the resident memory of the service in the
 * first third of the time, in the last, and their ratio.
 *
 *   BENCH_MINUTES=10 BENCH_RATE=1500 node bench/soak.ts
 */

import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import { enrol } from '../src/interfaces/cli/enrol.ts'
import { BENCH_PATH } from './contestant.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'
import { startSteadyLoad } from './steady-load.ts'
import { BENCH_API } from './subject/bench-api.ts'
import { startSubject } from './subject/tollgate.ts'
import { openWorkbench } from './workbench.ts'

const MINUTES = Number(process.env['BENCH_MINUTES'] ?? 10)
const RATE = Number(process.env['BENCH_RATE'] ?? 1_500)
const WARM_UP_MS = 60_000
const LOOK_EVERY_MS = 5_000
const REFUSED_EVERY_MS = 20
const PARTIES = 200
/** Of the last third over the first: what is resident breathes. */
const RATIO_MAX = 1.15

console.log(`machine: ${describeMachine()}`)
const workbench = await openWorkbench()
const { service, platform, enrolment } = await startSubject(workbench.backendPort)
try {
  const parties: string[] = []
  for (let number = 0; number < PARTIES; number++) {
    const kind = 'application'
    const { token } = await enrol({
      platform,
      gatewayUrl: service.gatewayUrl,
      api: BENCH_API,
      name: `p${number}`,
      kind,
      scopes: ['items:write'],
    })
    parties.push(token)
  }
  const load = startSteadyLoad({
    origin: service.gatewayUrl,
    path: BENCH_PATH,
    token: enrolment.token,
    callsPerSecond: RATE,
  })
  const pool = new Pool(service.gatewayUrl, { connections: 8 })
  let refused = 0
  const refusing = setInterval(() => {
    const which = refused++
    const token = which % 4 === 0 ? `forged.${which}.token` : (parties[which % PARTIES] ?? '')
    const path = which % 7 === 0 ? `/${BENCH_API}/nothing-${which}` : BENCH_PATH
    void pool
      .request({ path, method: 'GET', headers: { authorization: `Bearer ${token}` } })
      .then(({ body }) => body.dump())
  }, REFUSED_EVERY_MS)

  await wait(WARM_UP_MS)
  const residentMb: number[] = []
  for (const endMs = performance.now() + MINUTES * 60_000; performance.now() < endMs;) {
    residentMb.push(residentOf(service.pid))
    await wait(LOOK_EVERY_MS)
  }
  clearInterval(refusing)
  await load.stop()
  await pool.close()

  const third = Math.floor(residentMb.length / 3)
  const [first, last] = [spreadOf(residentMb.slice(0, third)), spreadOf(residentMb.slice(-third))]
  const ratio = last.median / first.median
  const { good, bad, leftOut } = load.counts
  console.log(`load:      ${good} good, ${bad} failed, ${leftOut} not sent, ${refused} refused, in ${MINUTES} minutes`)
  console.log(`resident:  first third ${toText(first, 0)} MiB, last third ${toText(last, 0)} MiB`)
  console.log(`memory is ${ratio <= RATIO_MAX ? 'flat' : 'not flat'}: ratio ${ratio.toFixed(3)}, at most ${RATIO_MAX}`)
} finally {
  await service.stop()
  await workbench.close()
}

function residentOf(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1_024
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs))
}
