// Forwards to the ACL subset.
#pragma once
#include "acl.h"
