/**
 * Preload that adds the number in the file `CLOCK_OFFSET_FILE` to the time of a process, in milliseconds: `Date` is shifted, timers run
 * as usual. SIGUSR2 makes all threads read it again, so that the clock jumps.
 */

import { readFileSync } from 'node:fs'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

const file = process.env['CLOCK_OFFSET_FILE'] ?? ''
const RealDate = Date
const jumps = new BroadcastChannel('jumps of the clock')
let offsetMs = 0

function read(): void {
  offsetMs = Number(readFileSync(file, 'utf8'))
}

read()
jumps.onmessage = read
jumps.unref()
if (isMainThread) {
  process.on('SIGUSR2', () => {
    read()
    jumps.postMessage(null)
  })
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + offsetMs] : args, newTarget) as Date,
  apply: (target) => new target(target.now() + offsetMs).toString(),
  get: (target, key) => (key === 'now' ? () => target.now() + offsetMs : (Reflect.get(target, key) as unknown)),
})
