/** A message with its sender, and the operations that it calls. */

import type { Fields } from '../../../foundation/json/fields.ts'
import type { Caller } from '../../../boundary/plan/caller.ts'
import type { OperationAnswer } from './operation-runner.ts'
import type { IsPermitted } from './permitted-operations.ts'
import type { PlatformTool, PlatformTools } from './platform-tools.ts'

export interface Exchange {
  readonly caller: Caller
  readonly tools: PlatformTools
  /** Calls an operation with the credential of the message. */
  readonly call: (tool: PlatformTool, args: Fields) => Promise<OperationAnswer>
  /** Resolves to what the caller may call. */
  readonly permitted: () => Promise<IsPermitted>
}
