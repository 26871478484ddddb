/** Calls that go on while a command takes access away. */

/** Calls with 24 connections; returns the statuses of the calls that are sent after `change` is answered. */
export async function statusesAfter(call: () => Promise<number>, change: () => Promise<unknown>): Promise<number[]> {
  let isChanged = false
  let served = 0
  let refused = 0
  const after = new Set<number>()
  const { promise: warm, resolve } = Promise.withResolvers<void>()
  const lanes = Array.from({ length: 24 }, async () => {
    while (refused < 500) {
      const isAfter = isChanged
      const status = await call()
      if (isAfter) after.add(status)
      if (isAfter) refused++
      else if (status === 200 && ++served === 300) resolve()
    }
  })
  await warm
  await change()
  isChanged = true
  await Promise.all(lanes)
  return [...after]
}
