import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { createSingleNode } from '../../../src/storage/store/nodes.ts'
import { nodesContract } from './nodes.contract.ts'

nodesContract('one node', () => createSingleNode(systemClock))
