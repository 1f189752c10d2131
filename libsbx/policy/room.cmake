sbx_room(policy SOURCES policy/policy.cc policy/environment.cc policy/exec_size.cc policy/request.cc LINK sbx_base sbx_profile)
