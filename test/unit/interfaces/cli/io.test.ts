import { expect, it, vi } from 'vitest'
import { createInterrupt } from '../../../../src/interfaces/cli/io.ts'

it('createInterrupt takes one Ctrl-C that arrives twice, from the terminal and from npx, for one', () => {
  const onFirst = vi.fn()
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as () => never)
  const interrupt = createInterrupt(onFirst)
  interrupt()
  interrupt()
  expect(onFirst).toHaveBeenCalledTimes(1)
  expect(exit).not.toHaveBeenCalled()
  exit.mockRestore()
})
