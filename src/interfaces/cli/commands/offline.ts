/** `tollgate lint` and `tollgate breaking`: need nothing but their files. */

import type { GateCommand } from '../gate/gate-settings.ts'
import { runGate } from '../gate/run-gate.ts'
import type { Io } from '../io.ts'

export function runOffline(gate: GateCommand, args: readonly string[], { stdin, out, err }: Io): Promise<number> {
  return runGate(gate, args, {
    stdin,
    out: (text) => out.write(text),
    err: (text) => err.write(text),
    colour: out.colour,
    nowMs: Date.now(),
  })
}
