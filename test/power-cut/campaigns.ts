/** Runs campaigns in parallel, each in its own process, and sums their results. As a program: runs one and prints its result. */

import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { runCampaign, type CampaignOptions, type Tally } from './campaign.ts'

export interface Campaigns {
  readonly cuts: number
  readonly tally: ReadonlyMap<string, Tally>
  readonly faults: readonly string[]
}

interface Printed extends Omit<Campaigns, 'tally'> {
  readonly tally: readonly (readonly [string, Tally])[]
}

const PROCESSES_MAX = 8

/** A seed repeats the same choices only with the same number of processes. */
export async function runCampaigns({ seed, cuts, recordings }: CampaignOptions): Promise<Campaigns> {
  const processes = Math.min(PROCESSES_MAX, availableParallelism())
  const share = (whole: number, index: number): number =>
    Math.floor((whole * (index + 1)) / processes) - Math.floor((whole * index) / processes)
  const all = await Promise.all(
    Array.from({ length: processes }, (_, index) =>
      runProcess({ seed: seed + index, cuts: share(cuts, index), recordings: Math.ceil(recordings / processes) }),
    ),
  )
  const tally = new Map<string, Tally>()
  for (const [name, one] of all.flatMap((each) => each.tally)) {
    const sum = tally.get(name)
    tally.set(name, sum === undefined ? one : addUp(sum, one))
  }
  return {
    cuts: all.reduce((sum, each) => sum + each.cuts, 0),
    tally,
    faults: all.flatMap(({ faults }) => faults),
  }
}

function addUp(a: Tally, b: Tally): Tally {
  return {
    cuts: a.cuts + b.cuts,
    withLoss: a.withLoss + b.withLoss,
    callsLost: a.callsLost + b.callsLost,
    reported: a.reported + b.reported,
    callsReported: a.callsReported + b.callsReported,
    refused: a.refused + b.refused,
  }
}

function runProcess(options: CampaignOptions): Promise<Printed> {
  const { promise, resolve, reject } = Promise.withResolvers<Printed>()
  const child = spawn(process.execPath, [import.meta.filename, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString('utf8')))
  child.on('error', reject)
  child.on('close', (code) => {
    if (code === 0) resolve(JSON.parse(printed) as Printed)
    else reject(new Error(`a campaign ended with ${code}`))
  })
  return promise
}

if (import.meta.main) {
  const campaign = await runCampaign(JSON.parse(process.argv[2] ?? '') as CampaignOptions)
  console.log(JSON.stringify({ ...campaign, tally: [...campaign.tally] } satisfies Printed))
}
